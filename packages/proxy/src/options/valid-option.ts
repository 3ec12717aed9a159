/** Validation of options, one function per type. An error has the expected and the given value. */
import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { BatchwiseError, didYouMean } from 'batchwise';

export function invalidOption(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', message);
}

/** An object without unknown keys. */
export function validKeys(where: string, value: unknown, known: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw expected(where, 'an object', value);
  }
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    throw invalidOption(
      `${where}: unknown option ${JSON.stringify(key)}.${didYouMean(key, known)} Known are ${known.join(', ')}.`,
    );
  }
  return value as Record<string, unknown>;
}

export function validCount(name: string, value: unknown, least = 1, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  const upTo = most === Number.MAX_SAFE_INTEGER ? `from ${least} up` : `from ${least} to ${most}`;
  throw expected(name, `a whole number ${upTo}`, value);
}

/** A duration that a timer supports. */
export function validSpanMs(name: string, value: unknown, least = 1): number {
  if (typeof value === 'number' && value >= least && value <= MAX_TIMER_MS) return value;
  throw expected(name, `milliseconds (a number from ${least} to ${MAX_TIMER_MS})`, value);
}

const MAX_TIMER_MS = 24 * 60 * 60 * 1000;

/** A duration that may be Infinity. */
export function validLimitMs(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0) return value;
  throw expected(name, 'milliseconds (a number above 0, or Infinity for no limit)', value);
}

export function validText(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw expected(name, 'a string that is not empty', value);
}

export function validList(name: string, value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw expected(name, `a list of ${what}`, value);
}

/** PEM as a string or bytes. */
export function validPem(name: string, value: unknown): string | Buffer {
  if (typeof value === 'string' && value !== '') return value;
  if (Buffer.isBuffer(value) && value.length > 0) return value;
  throw expected(name, 'PEM text, as a string or a Buffer', value);
}

/** One or more certificates. Node ignores invalid ones, and then every handshake fails. */
export function validCertificate(name: string, value: unknown): string | Buffer {
  const pem = validPem(name, value);
  try {
    new X509Certificate(pem);
  } catch {
    throw expected(name, 'a certificate as PEM text', value);
  }
  return pem;
}

/** Checks that a certificate and its key match, if both are given. */
export function validPair<T extends { readonly cert?: string | Buffer; readonly key?: string | Buffer }>(
  name: string,
  given: T,
): T {
  const { cert, key } = given;
  try {
    if (cert !== undefined && key !== undefined) createSecureContext({ cert, key });
  } catch (error) {
    const { reason = (error as Error).message } = error as { reason?: string };
    throw invalidOption(`${name}: expected a certificate and its key as PEM text, but: ${reason}.`);
  }
  return given;
}

// biome-ignore lint/complexity/noBannedTypes: any function will do; the caller knows its type
export function validFunction<F extends Function>(name: string, value: unknown): F {
  if (typeof value === 'function') return value as F;
  throw expected(name, 'a function', value);
}

export function expected(name: string, what: string, given: unknown): BatchwiseError {
  return invalidOption(`${name}: expected ${what}, got ${shown(given)}.`);
}

function shown(value: unknown): string {
  if (typeof value === 'number' || value === undefined || value === null) return String(value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object') return Array.isArray(value) ? `an array of ${value.length}` : 'an object';
  if (typeof value !== 'string') return String(value);
  return `the string ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
}
