/** Validation, one function per kind of value: each error says what was expected and what was given. */
import type { Place } from './place.js';

export type Fields = Readonly<Record<string, unknown>>;

/** About three years. */
export const MAX_MS = 1e11;

export function validFields(place: Place, value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw place.expected('an object', value);
}

/** An object without unknown keys. */
export function validKeys(place: Place, value: unknown, known: readonly string[]): Fields {
  const fields = validFields(place, value);
  for (const key of Object.keys(fields)) if (!known.includes(key)) throw place.unknown('key', key, known);
  return fields;
}

export function validList(place: Place, value: unknown, of: string, most: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw place.expected(`a list of ${of}`, value);
  if (value.length > most) throw place.expected(`a list of at most ${most} ${of}`, value);
  return value;
}

export function validString(place: Place, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw place.expected('a string that is not empty', value);
}

export function validOneOf<Word extends string>(place: Place, value: unknown, words: readonly Word[]): Word {
  if (typeof value !== 'string') throw place.expected(`one of ${words.join(', ')}`, value);
  if (words.includes(value as Word)) return value as Word;
  throw place.unknown('value', value, words);
}

export function validWhole(place: Place, value: unknown, least: number, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw place.expected(`a whole number from ${least} to ${most}`, value);
}

/** From `least` to `most`, both inclusive. */
export function validNumber(place: Place, value: unknown, least: number, most: number): number {
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw place.expected(`a number from ${least} to ${most}`, value);
}

export function validShare(place: Place, value: unknown): number {
  return validNumber(place, value, 0, 1);
}

/** Above 0, up to `most`. */
export function validPositive(place: Place, value: unknown, most: number): number {
  if (typeof value === 'number' && value > 0 && value <= most) return value;
  throw place.expected(`a number above 0, at most ${most}`, value);
}

export function validMs(place: Place, value: unknown): number {
  return validNumber(place, value, 0, MAX_MS);
}

export function validMsAboveZero(place: Place, value: unknown): number {
  return validPositive(place, value, MAX_MS);
}
