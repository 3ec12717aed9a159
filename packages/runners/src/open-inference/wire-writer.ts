/** Writes the protobuf wire format. The parts are kept as they are and concatenated once at the end. */
export class WireWriter {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  text(field: number, text: string): void {
    if (text !== '') this.bytes(field, Buffer.from(text));
  }

  bytes(field: number, bytes: Uint8Array): void {
    this.#push(prefix(field, bytes.length));
    this.#push(bytes);
  }

  /** Writes a repeated field into one buffer: a separate part per element would cost more than a short element. */
  each(field: number, elements: readonly Uint8Array[]): void {
    let length = 0;
    for (const element of elements) length += MAX_PREFIX + element.length;
    const bytes = new Uint8Array(length);
    let at = 0;
    for (const element of elements) {
      bytes[at] = (field << 3) | 2;
      at = writeVarint(bytes, at + 1, element.length, 0);
      bytes.set(element, at);
      at += element.length;
    }
    this.#push(bytes.subarray(0, at));
  }

  message(field: number, message: WireWriter): void {
    this.#push(prefix(field, message.#length));
    for (const part of message.#parts) this.#push(part);
  }

  /** Leaves `headroom` bytes free at the front. */
  finish(headroom = 0): Buffer {
    if (headroom === 0) return Buffer.concat(this.#parts, this.#length);
    const whole = Buffer.allocUnsafe(headroom + this.#length);
    let at = headroom;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }

  #push(part: Uint8Array): void {
    this.#parts.push(part);
    this.#length += part.length;
  }
}

const MAX_PREFIX = 6;

/** The prefix of content with a length. Field numbers up to 15 take one byte, and this package uses no others. */
function prefix(field: number, length: number): Uint8Array {
  const bytes = new Uint8Array(MAX_PREFIX);
  bytes[0] = (field << 3) | 2;
  return bytes.subarray(0, writeVarint(bytes, 1, length, 0));
}

/** Returns the end position, at most ten bytes after `start`. */
export function writeVarint(bytes: Uint8Array, start: number, low: number, high: number): number {
  let at = start;
  let lower = low >>> 0;
  let upper = high >>> 0;
  while (upper !== 0 || lower > 127) {
    bytes[at++] = (lower & 127) | 128;
    lower = ((lower >>> 7) | (upper << 25)) >>> 0;
    upper >>>= 7;
  }
  bytes[at++] = lower;
  return at;
}
