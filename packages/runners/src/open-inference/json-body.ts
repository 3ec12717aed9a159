/** The JSON of a request body. What is wrong with it is told as a 400, however deep or broken it is. */
import { isUtf8 } from 'node:buffer';
import { checkJsonSize, type JsonLimits } from './json-size.js';
import { malformed } from './message-error.js';
import { hasNonFinite } from './non-finite.js';
import { quoteLongIntegers } from './quote-long-integers.js';
import { shownValue } from './shown-value.js';

export type JsonObject = Readonly<Record<string, unknown>>;

/** Of an upstream's answer, which its model has made: more than any has. */
const ANSWER_LIMITS: JsonLimits = {
  values: Number.POSITIVE_INFINITY,
  containers: 1_000_000,
  keys: 1_000_000,
  depth: Number.POSITIVE_INFINITY,
};

export class JsonBody {
  readonly value: JsonObject;
  readonly #text: string;
  #exact: JsonObject | undefined;

  /** Throws a `MessageError` for what is no JSON object, or more than `limits` allow. */
  constructor(bytes: Buffer, limits: JsonLimits = ANSWER_LIMITS) {
    if (bytes.length === 0) throw malformed('body', 'expected a JSON object, got nothing.');
    if (!isUtf8(bytes)) throw malformed('body', 'expected JSON in UTF-8, got bytes that are not UTF-8.');
    checkJsonSize(bytes, limits);
    this.#text = bytes.toString('utf8');
    const value = parse(this.#text);
    if (!isJsonObject(value)) {
      throw malformed('body', `expected a JSON object, got ${shownValue(value)}.`);
    }
    this.value = value;
  }

  /** No tensor in it can have more elements than this. */
  get length(): number {
    return this.#text.length;
  }

  /**
   * The same, in which integers that `value` may have rounded are strings with all their digits. Costs a
   * second parse, where there is any.
   */
  get exact(): JsonObject {
    if (this.#exact === undefined) {
      const text = quoteLongIntegers(this.#text);
      this.#exact = text === this.#text ? this.value : (JSON.parse(text) as JsonObject);
    }
    return this.#exact;
  }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const hint = hasNonFinite(text)
      ? ' JSON has no NaN or Infinity: send such values as binary data, which /v2 takes.'
      : '';
    throw malformed('body', `expected JSON, but ${error instanceof Error ? error.message : error}.${hint}`);
  }
}
