/**
 * Reads protobuf's wire format field by field and makes nothing of it by itself: the messages that carry
 * tensors are too large, and come from too far away, to be turned into objects before they are looked at.
 */
import { type MessageError, malformed, tooLarge } from './message-error.js';

export const WIRE_TYPES = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** The value of a field that is not there. */
export const NO_BYTES: Uint8Array = new Uint8Array(0);

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** A string field. Of a field that is repeated the last one counts: decode that one alone. */
export function textOf(bytes: Uint8Array): string {
  return utf8.decode(bytes);
}

/**
 * The fields that a message may have, including the fields of the messages in it. A field of two bytes costs as much
 * time as hundreds of bytes of packed data, so a limit in bytes alone does not limit the time.
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
  /** The number of the field that `next` has come to. */
  field = 0;
  wireType = 0;
  /** The halves of the last varint. */
  low = 0;
  high = 0;
  /** Where the content of the last field lies. */
  from = 0;
  to = 0;
  readonly #bytes: Uint8Array;
  readonly #where: string;
  readonly #budget: FieldBudget | undefined;
  readonly #end: number;
  #at: number;

  /** `where` is what an error calls the bytes. Without a budget for bytes whose fields have been counted before. */
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

  /** Goes on to the next field, whose content must then be read or skipped. */
  next(): boolean {
    if (this.isAtEnd) return false;
    this.#budget?.take();
    this.varint();
    this.wireType = this.low & 7;
    this.field = this.low >>> 3;
    if (this.field === 0 || this.high !== 0) throw this.#broken('a field');
    return true;
  }

  /** Reads 64 bits into `low` and `high`. */
  varint(): void {
    // Most numbers have one byte.
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
      if (this.#at >= this.#end) throw this.#broken('the rest of a number');
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
    throw this.#broken('a number of at most ten bytes');
  }

  /** The last varint as a signed number; beyond 2⁵³ not exact. */
  get signed(): number {
    return this.high * 2 ** 32 + (this.low >>> 0);
  }

  /** Passes over the content of the field; `from` and `to` say where it lies. */
  skip(): void {
    switch (this.wireType) {
      case WIRE_TYPES.varint:
        this.from = this.#at;
        this.varint();
        this.to = this.#at;
        break;
      case WIRE_TYPES.fixed64:
        this.#pass(8);
        break;
      case WIRE_TYPES.fixed32:
        this.#pass(4);
        break;
      case WIRE_TYPES.bytes:
        this.varint();
        this.#pass((this.high >>> 0) * 2 ** 32 + (this.low >>> 0));
        break;
      default:
        throw this.#broken('a field of a known type');
    }
  }

  /** A view on the content of the field. */
  bytes(): Uint8Array {
    if (this.wireType !== WIRE_TYPES.bytes) throw this.#broken(`field ${this.field} with a length`);
    this.skip();
    return this.#bytes.subarray(this.from, this.to);
  }

  #pass(length: number): void {
    if (length > this.#end - this.#at) {
      throw this.#broken(`${length} bytes, of which ${this.#end - this.#at} are there,`);
    }
    this.from = this.#at;
    this.#at += length;
    this.to = this.#at;
  }

  #broken(expected: string): MessageError {
    return malformed(this.#where, `this is no protobuf message: expected ${expected} at byte ${this.#at}.`);
  }
}
