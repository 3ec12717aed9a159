/** One validator for each kind of option. Its message says what was expected and what was given. */

import { describe, didYouMean } from './describe.js';
import { BatchwiseError } from './errors.js';

export function invalidOption(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', message);
}

export function expected(name: string, what: string, came: unknown): BatchwiseError {
  return invalidOption(`${name}: expected ${what}, got ${describe(came)}.`);
}

/** Milliseconds, 0 allowed. */
export function validMs(name: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0) return value;
  throw expected(name, 'milliseconds (a number, 0 or more, or Infinity for no limit)', value);
}

/** Milliseconds, for limits with which 0 would fail every call. */
export function validMsAboveZero(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0) return value;
  throw expected(name, 'milliseconds (a number above 0, or Infinity for no limit)', value);
}

/** Elapsed milliseconds. */
export function validWaitedMs(name: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY) return value;
  throw expected(name, 'milliseconds (a finite number, 0 or more)', value);
}

/** A whole number from 1 up, or Infinity; with `minusOne`, -1 means unlimited too. */
export function validCount(name: string, value: unknown, { minusOne = false } = {}): number {
  if (value === Number.POSITIVE_INFINITY) return value;
  if (minusOne && value === -1) return Number.POSITIVE_INFINITY;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
  throw expected(
    name,
    `a whole number from 1 up, or Infinity${minusOne ? ' (or -1) for unlimited' : ''}`,
    value,
  );
}

export function validPositive(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && Number.isFinite(value)) return value;
  throw expected(name, 'a number above 0', value);
}

/** Beyond these bounds the sums of the fair queue would lose precision. */
export function validWeight(name: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0.001 && value <= 1_000_000) return value;
  throw expected(name, 'a number from 0.001 to 1000000', value);
}

/** Bounded, because the queue keeps a lane for each priority in use. */
export const MAX_PRIORITY = 100;

export function validPriority(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= MAX_PRIORITY) return value;
  throw expected(name, `a whole number from -${MAX_PRIORITY} to ${MAX_PRIORITY}`, value);
}

/** Numbers above 0, each larger than the one before. */
export function validSizes(name: string, value: unknown): readonly number[] {
  if (!Array.isArray(value)) throw expected(name, 'a list of rising numbers', value);
  for (let i = 0; i < value.length; i++) {
    validPositive(`${name}[${i}]`, value[i]);
    if (i > 0 && value[i] <= value[i - 1])
      throw expected(`${name}[${i}]`, `more than ${value[i - 1]}`, value[i]);
  }
  return Object.freeze([...value]);
}

export function validBoolean(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw expected(name, 'true or false', value);
}

export function validString(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw expected(name, 'a string that is not empty', value);
}

// biome-ignore lint/complexity/noBannedTypes: any function will do; the caller knows its type
export function validFunction<F extends Function>(name: string, value: unknown): F {
  if (typeof value === 'function') return value as F;
  throw expected(name, 'a function', value);
}

/** An object with these methods. */
export function validMethods<T extends object>(name: string, value: unknown, methods: readonly string[]): T {
  if (typeof value !== 'object' || value === null) {
    throw expected(name, `an object with ${methods.map((method) => `${method}()`).join(', ')}`, value);
  }
  for (const method of methods) {
    const member = (value as Record<string, unknown>)[method];
    if (typeof member !== 'function') throw expected(`${name}.${method}`, 'a function', member);
  }
  return value as T;
}

export function validSignal(name: string, value: unknown): AbortSignal {
  const { aborted, addEventListener, removeEventListener } = (value ?? {}) as Partial<AbortSignal>;
  const isSignal =
    typeof aborted === 'boolean' &&
    typeof addEventListener === 'function' &&
    typeof removeEventListener === 'function';
  if (isSignal) return value as AbortSignal;
  throw expected(name, 'an AbortSignal', value);
}

export function validObject(name: string, value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw expected(name, 'an object', value);
}

/** An object with no other keys than these. */
export function validKeys(name: string, value: unknown, known: readonly string[]): Record<string, unknown> {
  const object = validObject(name, value);
  for (const key of Object.keys(object)) if (!known.includes(key)) throw unknownKey(name, key, known);
  return object;
}

export function unknownKey(where: string, key: string, known: readonly string[]): BatchwiseError {
  return invalidOption(
    `${where}: unknown option ${JSON.stringify(key)}.${didYouMean(key, known)} Known are ${known.join(', ')}.`,
  );
}
