/**
 * A primary key as text, equal for equal keys. DynamoDB returns items in any order and numbers in a normal form, and
 * rejects a request that names a key twice: both need to tell whether two keys are the same.
 */
import { NumberValue } from '@aws-sdk/lib-dynamodb';
import { invalidItem } from '@batchwise/aws';
import { BatchwiseError } from 'batchwise';
import type { Attributes } from './table-options.js';

/** The longest partition key and the longest sort key, in bytes. */
const MAX_KEY_BYTES = [2048, 1024] as const;

export class PrimaryKey {
  readonly #names: readonly string[];

  constructor(names: readonly string[]) {
    this.#names = names;
  }

  /** Throws `INVALID_ITEM` if the attributes hold no valid key. */
  textOf(attributes: Attributes): string {
    return JSON.stringify(this.#names.map((name, position) => textOf(name, attributes[name], position)));
  }

  /** The same for an object that is a key and nothing else. */
  textOfOnly(key: Attributes): string {
    const names = Object.keys(key);
    if (names.length > this.#names.length) {
      throw invalidItem(`a key has the attributes ${this.#names.join(', ')}, got ${names.join(', ')}.`);
    }
    return this.textOf(key);
  }

  /**
   * The keys of what an answer contains, each with its attributes. A key that matches no request is an error: its
   * caller would be told that there is no such item, or that its write is done.
   */
  textsIn(
    answer: readonly Attributes[],
    requests: readonly { readonly text: string }[],
  ): Map<string, Attributes> {
    const asked = new Set(requests.map(({ text }) => text));
    const texts = new Map<string, Attributes>();
    for (const attributes of answer) {
      const text = this.textOf(attributes);
      if (!asked.has(text)) {
        const message = `DynamoDB answered for the key ${text}, which the request does not contain.`;
        throw new BatchwiseError('BAD_RESULT', message);
      }
      texts.set(text, attributes);
    }
    return texts;
  }
}

function textOf(name: string, value: unknown, position: number): string {
  const [text, bytes] = scalar(value);
  if (text === undefined) {
    const came = value === null ? 'null' : typeof value;
    throw invalidItem(`key attribute ${name}: expected a string, a finite number or binary, got ${came}.`);
  }
  const limit = MAX_KEY_BYTES[position === 0 ? 0 : 1];
  if (bytes < 1 || bytes > limit) {
    throw invalidItem(`key attribute ${name}: expected 1 to ${limit} bytes, got ${bytes}.`);
  }
  return text;
}

/** The text with a letter for the type, and the size in bytes. */
function scalar(value: unknown): [text: string | undefined, bytes: number] {
  if (typeof value === 'string') return [`S${value}`, Buffer.byteLength(value)];
  const bytes = binary(value);
  if (bytes !== undefined) return [`B${bytes.toString('base64')}`, bytes.length];
  const number = isNumeric(value) ? normalNumber(String(value)) : undefined;
  return [number && `N${number}`, 1];
}

/** A client with `wrapNumbers` returns numbers in a class of its own. */
function isNumeric(value: unknown): boolean {
  if (typeof value === 'number' || typeof value === 'bigint' || value instanceof NumberValue) return true;
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Set);
}

export function binary(value: unknown): Buffer | undefined {
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return value instanceof ArrayBuffer ? Buffer.from(value) : undefined;
}

/** Digits without zeros at either end, and a power of ten: 100, 1e2 and 100.0 are the same number. */
function normalNumber(text: string): string | undefined {
  const [, sign, whole = '', fraction = '', power = '0'] =
    /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  if (whole === '' && fraction === '') return undefined;
  if (digits === '') return '0';
  const significant = digits.replace(/0+$/, '');
  const exponent = Number(power) - fraction.length + digits.length - significant.length;
  return `${sign === '-' ? '-' : ''}${significant}e${exponent}`;
}
