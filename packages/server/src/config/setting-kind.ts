/**
 * A kind of value: what is accepted, in words and in code, and how it is written again.
 * Values come as YAML gives them: scalars, arrays, and maps as `Map`, so that no key can be special.
 */
import type { SettingPath } from './setting-path.js';

export interface Complaint {
  /** Within the value: empty for the value itself, `[1, 'path']` for a part of it. */
  readonly at: SettingPath;
  readonly message: string;
  /** It is about the key, not about what it says. */
  readonly isOfKey?: boolean;
}

export type Verdict<T> = { readonly value: T } | { readonly complaints: readonly Complaint[] };

/** What YAML and JSON can say. */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [key: string]: Plain };

export interface KindContext {
  /** What relative paths start from; empty for the working directory. */
  readonly folder: string;
}

export interface Kind<T> {
  /** Completes "expected …". */
  readonly expected: string;
  /** The same where it stands in a table, if that can be shorter. */
  readonly label?: string;
  /** Whether a text from the environment or a flag is the value as it stands. */
  readonly isText?: boolean;
  /** Whether such a text may have several, separated by commas. */
  readonly isList?: boolean;
  parse(value: unknown, context: KindContext): Verdict<T>;
  /** `parse` of what this gives is the same value again. */
  write(value: T): Plain;
}

export function accept<T>(value: T): Verdict<T> {
  return { value };
}

export function refuse(expected: string, came: unknown, at: SettingPath = []): Verdict<never> {
  return { complaints: [{ at, message: `expected ${expected}, got ${describeValue(came)}.` }] };
}

/** Short, and never the whole content. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string')
    return `the string ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
  if (value === null || value === undefined) return 'nothing';
  if (value instanceof Map) return 'a map';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  return String(value);
}

/** A limit in an error message: 1,000,000. */
export function withCommas(value: number): string {
  return value.toLocaleString('en');
}
