/**
 * Reads the protobuf wire format field by field without building objects: messages with tensors are large and come
 * from untrusted peers.
 */
import { type MessageError, malformed, tooLarge } from './message-error.js';

export const WIRE_TYPES = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** The value of an absent field. */
export const NO_BYTES: Uint8Array = new Uint8Array(0);

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Decodes a string field. The last occurrence of a repeated field counts: decode only that one. */
export function textOf(bytes: Uint8Array): string {
  return utf8.decode(bytes);
}

/**
 * Limits the number of fields of a message and the messages inside it. A field of two bytes costs as much time as
 * hundreds of bytes of packed data, so a limit in bytes alone does not limit the time.
 */
export class FieldBudget {
  readonly #most: number;
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  take(): void {
    if (++this.#taken > this.#most)
      throw tooLarge('message', `expected at most ${this.#most} protobuf fields, got more.`);
  }
}

export class WireReader {
  /** The number of the current field. */
  field = 0;
  wireType = 0;
  /** The two 32-bit halves of the last varint. */
  low = 0;
  high = 0;
  /** The range of the content of the last field. */
  from = 0;
  to = 0;
  readonly #bytes: Uint8Array;
  readonly #where: string;
  readonly #budget: FieldBudget | undefined;
  readonly #end: number;
  #at: number;

  /** `where` is the name of the bytes in error messages. No budget is needed if the fields are already counted. */
  constructor(bytes: Uint8Array, where: string, budget?: FieldBudget, from = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#where = where;
    this.#budget = budget;
    this.#at = from;
    this.#end = end;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  /** Advances to the next field. The caller must then read or skip its content. */
  next(): boolean {
    if (this.isAtEnd) return false;
    this.#budget?.take();
    this.varint();
    this.wireType = this.low & 7;
    this.field = this.low >>> 3;
    if (this.field === 0 || this.high !== 0) throw this.#invalid('a field');
    return true;
  }

  /** Reads 64 bits into `low` and `high`. */
  varint(): void {
    // Fast path: most numbers have one byte.
    const first = this.#at < this.#end ? (this.#bytes[this.#at] as number) : 128;
    if (first < 128) {
      this.#at += 1;
      this.low = first;
      this.high = 0;
      return;
    }
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.#at >= this.#end) throw this.#invalid('the rest of a number');
      const byte = this.#bytes[this.#at++] as number;
      const bits = byte & 127;
      if (shift < 28) low |= bits << shift;
      else if (shift > 28) high |= bits << (shift - 32);
      else {
        low |= bits << 28;
        high = bits >>> 4;
      }
      if (byte < 128) {
        this.low = low;
        this.high = high;
        return;
      }
    }
    throw this.#invalid('a number of at most ten bytes');
  }

  /** The last varint as a signed number. Not exact beyond 2⁵³. */
  get signed(): number {
    return this.high * 2 ** 32 + (this.low >>> 0);
  }

  /** Skips the content of the field and sets `from` and `to` to its range. */
  skip(): void {
    switch (this.wireType) {
      case WIRE_TYPES.varint:
        this.from = this.#at;
        this.varint();
        this.to = this.#at;
        break;
      case WIRE_TYPES.fixed64:
        this.#advance(8);
        break;
      case WIRE_TYPES.fixed32:
        this.#advance(4);
        break;
      case WIRE_TYPES.bytes:
        this.varint();
        this.#advance((this.high >>> 0) * 2 ** 32 + (this.low >>> 0));
        break;
      default:
        throw this.#invalid('a field of a known type');
    }
  }

  /** Returns a view of the content of the field. */
  bytes(): Uint8Array {
    if (this.wireType !== WIRE_TYPES.bytes) throw this.#invalid(`field ${this.field} with a length`);
    this.skip();
    return this.#bytes.subarray(this.from, this.to);
  }

  #advance(length: number): void {
    if (length > this.#end - this.#at) {
      throw this.#invalid(`${length} bytes (only ${this.#end - this.#at} left)`);
    }
    this.from = this.#at;
    this.#at += length;
    this.to = this.#at;
  }

  #invalid(expected: string): MessageError {
    return malformed(this.#where, `invalid protobuf message: expected ${expected} at byte ${this.#at}.`);
  }
}
