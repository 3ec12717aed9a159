/** Parsers of flag values: each error says what was expected; commander adds the flag and the value. */
import { InvalidArgumentError } from 'commander';

export function positiveNumber(most: number): (text: string) => number {
  return (text) => {
    const value = numberFrom(text);
    if (value > 0 && value <= most) return value;
    throw new InvalidArgumentError(`Expected a number above 0, at most ${written(most)}.`);
  };
}

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = numberFrom(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${written(most)}.`);
  };
}

/** Device numbers: `0`, or `0,1`. */
export function deviceList(text: string): number[] {
  if (/^\d{1,4}(?:,\d{1,4})*$/.test(text)) return text.split(',').map(Number);
  throw new InvalidArgumentError('Expected device numbers, such as 0 or 0,1.');
}

/** `0.05` or `5%`. */
export function share(most: number): (text: string) => number {
  return (text) => {
    const value = text.endsWith('%') ? numberFrom(text.slice(0, -1).trimEnd()) / 100 : numberFrom(text);
    if (value >= 0 && value <= most) return value;
    throw new InvalidArgumentError(`Expected a share from 0 to ${most}, such as 0.05 or 5%.`);
  };
}

/** NaN for anything but a decimal number, including an empty text. */
function numberFrom(text: string): number {
  return /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
}

function written(limit: number): string {
  return limit.toLocaleString('en');
}
