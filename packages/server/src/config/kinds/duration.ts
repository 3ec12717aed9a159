import { accept, type Kind, refuse } from '../setting-kind.js';
import { isUnlimited, UNLIMITED } from './number-kinds.js';

const MS_PER = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;
type Unit = keyof typeof MS_PER;

export interface DurationRange {
  readonly leastMs: number;
  readonly mostMs: number;
  readonly orUnlimited?: boolean;
}

/** A plain number is in seconds, as in BentoML; a string has a unit. The value is in milliseconds. */
export function duration({ leastMs, mostMs, orUnlimited = false }: DurationRange): Kind<number> {
  const range = `from ${durationText(leastMs)} to ${durationText(mostMs)}${orUnlimited ? `, or ${UNLIMITED}` : ''}`;
  const expected = `seconds, or a text such as 500ms, 2s, 1m, ${range}`;
  return {
    label: `duration ${range}`,
    expected,
    parse(value) {
      const ms = millisecondsOf(value);
      if (ms >= leastMs && ms <= mostMs) return accept(ms);
      if (orUnlimited && isUnlimited(value)) return accept(Number.POSITIVE_INFINITY);
      return refuse(expected, value);
    },
    write: (ms) => (ms === Number.POSITIVE_INFINITY ? UNLIMITED : durationText(ms)),
  };
}

/** In the largest unit that leaves a whole number. */
export function durationText(ms: number): string {
  for (const unit of ['h', 'm', 's'] as const)
    if (ms !== 0 && Number.isInteger(ms / MS_PER[unit])) return `${ms / MS_PER[unit]}${unit}`;
  return `${ms}ms`;
}

/** NaN for what is no duration. */
function millisecondsOf(value: unknown): number {
  if (typeof value === 'number') return inMs(value, 's');
  if (typeof value !== 'string') return Number.NaN;
  const match = /^(\d{1,15}(?:\.\d{1,15})?) ?(ms|s|m|h)$/.exec(value);
  return match === null ? Number.NaN : inMs(Number(match[1]), match[2] as Unit);
}

/** 1.1 s is 1100 ms, not 1100.0000000000002. */
function inMs(count: number, unit: Unit): number {
  return Number((count * MS_PER[unit]).toPrecision(15));
}
