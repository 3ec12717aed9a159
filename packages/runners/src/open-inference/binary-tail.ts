/**
 * The binary tensor extension of the REST protocol: the body starts with JSON, followed by the bytes of the tensors
 * in the order of the JSON.
 */
import { malformed } from './message-error.js';
import { quoted } from './shown-value.js';

/** Header with the number of bytes of the body that are JSON. */
export const BINARY_HEADER = 'inference-header-content-length';

/** Returns undefined when the whole body is JSON. */
export function jsonLength(bytes: Buffer, header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  const length = typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : -1;
  if (length < 0 || length > bytes.length) {
    throw malformed(
      `header ${BINARY_HEADER}`,
      `expected the length of the JSON, a whole number up to the ${bytes.length} bytes of the body, got ${quoted(String(header))}.`,
    );
  }
  return length;
}

/** The bytes after the JSON, consumed from the front. */
export class BinaryTail {
  readonly #bytes: Buffer;
  #taken = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  take(size: number, where: string): Buffer {
    const left = this.#bytes.length - this.#taken;
    if (size > left) throw malformed(where, `expected ${size} bytes in the body, got ${left}.`);
    const start = this.#taken;
    this.#taken += size;
    return this.#bytes.subarray(start, this.#taken);
  }

  /** `tensors` is the name that error messages use for the owners of the bytes. */
  expectEnd(tensors = 'inputs'): void {
    const left = this.#bytes.length - this.#taken;
    if (left > 0) {
      throw malformed(
        'body',
        `expected ${this.#taken} bytes of binary data, as declared by the ${tensors}, got ${left} more.`,
      );
    }
  }
}
