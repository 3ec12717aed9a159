/** Checks of options: each says what was expected and what came. */
import { BatchwiseError, didYouMean } from 'batchwise';

export function invalidOption(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', message);
}

/** A plain object with no keys but these. */
export function validKeys(where: string, value: unknown, known: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidOption(`${where}: expected an object, got ${shown(value)}.`);
  }
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    throw invalidOption(
      `${where}: unknown option ${JSON.stringify(key)}.${didYouMean(key, known)} Known are ${known.join(', ')}.`,
    );
  }
  return value as Record<string, unknown>;
}

export function validCount(name: string, value: unknown, least = 1): number {
  if (
    typeof value === 'number' &&
    (Number.isInteger(value) || value === Number.POSITIVE_INFINITY) &&
    value >= least
  )
    return value;
  throw invalidOption(`${name}: expected a whole number from ${least} up, got ${shown(value)}.`);
}

/** A time span that a timer can measure; in whole milliseconds, as Redis takes no others. */
export function validSpanMs(name: string, value: unknown, least: number): number {
  if (typeof value === 'number' && value >= least && value <= MOST_MS) return Math.ceil(value);
  throw invalidOption(
    `${name}: expected milliseconds, a number from ${least} to ${MOST_MS}, got ${shown(value)}.`,
  );
}

const MOST_MS = 24 * 60 * 60 * 1000;

function shown(value: unknown): string {
  if (typeof value === 'number' || value === undefined) return String(value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return JSON.stringify(value) ?? typeof value;
}
