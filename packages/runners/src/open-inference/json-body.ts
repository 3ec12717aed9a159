/** The JSON of a message body. Any invalid body, however deep or broken, results in a `MessageError` (HTTP 400). */
import { isUtf8 } from 'node:buffer';
import { checkJsonSize, type JsonLimits } from './json-size.js';
import { malformed } from './message-error.js';
import { quoteLongIntegers } from './quote-long-integers.js';
import { shownValue } from './shown-value.js';

export type JsonObject = Readonly<Record<string, unknown>>;

/** Limits for the response of an upstream: more than any model produces. */
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

  /** Throws a `MessageError` if the body is not a JSON object or exceeds `limits`. */
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

  /** An upper bound on the number of elements of any tensor in the body. */
  get length(): number {
    return this.#text.length;
  }

  /**
   * The same object, but integers that `value` may have rounded are strings with all their digits. Needs a second
   * parse if there are any such integers.
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
      ? ' JSON has no NaN or Infinity: send such values as binary data over /v2.'
      : '';
    throw malformed('body', `expected JSON, but ${error instanceof Error ? error.message : error}.${hint}`);
  }
}

/** Whether invalid JSON contains NaN or an infinity. Python's json module writes them by default. */
export function hasNonFinite(text: string): boolean {
  return /[[,:\s]-?(?:NaN|Infinity)\s*[\],}]/.test(text);
}
