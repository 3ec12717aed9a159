import { ERROR_CODE } from './error-code.js';
import { Http2Fault } from './http2-fault.js';
import { huffmanDecode } from './huffman-decode.js';
import { STATIC_TABLE } from './static-table.js';

/** What SETTINGS_HEADER_TABLE_SIZE is as long as nobody changes it, and we don't. */
const MAX_TABLE_BYTES = 4096;
const ENTRY_BYTES = 32;
const MOST_INTEGER_SHIFT = 28;

export type OnField = (name: string, value: string) => void;

/**
 * Reads the blocks of headers of one connection (RFC 7541), in the order of their coming: all of them share one table,
 * so a block of a stream that nobody wants any more is decoded as well. Throws for a block that cannot be read;
 * the connection is of no use then.
 */
export class HpackDecoder {
  /** The latest at the end. */
  readonly #table: (readonly [name: string, value: string])[] = [];
  #tableBytes = 0;
  #maxTableBytes = MAX_TABLE_BYTES;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;

  decode(block: Buffer, onField: OnField): void {
    this.#block = block;
    this.#at = 0;
    this.#resizeTable();
    while (this.#at < block.length) {
      const first = block[this.#at] as number;
      if (first >= 0x80) {
        const [name, value] = this.#entry(this.#integer(0x7f));
        onField(name, value);
      } else if (first >= 0x40) {
        const name = this.#name(0x3f);
        const value = this.#string();
        this.#add(name, value);
        onField(name, value);
      } else if (first >= 0x20) {
        throw broken('a table size update after the first header');
      } else {
        const name = this.#name(0x0f);
        onField(name, this.#string());
      }
    }
  }

  /** Only at the start of a block. */
  #resizeTable(): void {
    while (this.#at < this.#block.length && ((this.#block[this.#at] as number) & 0xe0) === 0x20) {
      const bytes = this.#integer(0x1f);
      if (bytes > MAX_TABLE_BYTES) throw broken(`a table of ${bytes} bytes, more than ${MAX_TABLE_BYTES}`);
      this.#maxTableBytes = bytes;
      this.#evict(bytes);
    }
  }

  #name(mask: number): string {
    const index = this.#integer(mask);
    return index === 0 ? this.#string() : this.#entry(index)[0];
  }

  #entry(index: number): readonly [name: string, value: string] {
    const entry =
      index <= STATIC_TABLE.length
        ? STATIC_TABLE[index - 1]
        : this.#table[this.#table.length + STATIC_TABLE.length - index];
    if (entry === undefined) throw broken(`the index ${index}, which is not in the table`);
    return entry;
  }

  #add(name: string, value: string): void {
    const bytes = name.length + value.length + ENTRY_BYTES;
    this.#evict(this.#maxTableBytes - bytes);
    // One that is larger than the whole table empties it, and that is all.
    if (bytes > this.#maxTableBytes) return;
    this.#table.push([name, value]);
    this.#tableBytes += bytes;
  }

  #evict(maxBytes: number): void {
    while (this.#tableBytes > maxBytes) {
      const oldest = this.#table.shift();
      if (oldest === undefined) return;
      this.#tableBytes -= oldest[0].length + oldest[1].length + ENTRY_BYTES;
    }
  }

  #integer(mask: number): number {
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#byte();
      if (shift >= MOST_INTEGER_SHIFT) throw broken('an integer that is too large');
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  #string(): string {
    const isHuffman = this.#at < this.#block.length && (this.#block[this.#at] as number) >= 0x80;
    const length = this.#integer(0x7f);
    const from = this.#at;
    const to = from + length;
    if (to > this.#block.length) throw broken('a string that exceeds the block');
    this.#at = to;
    return isHuffman ? huffmanDecode(this.#block, from, to) : this.#block.toString('latin1', from, to);
  }

  #byte(): number {
    if (this.#at >= this.#block.length) throw broken('a truncated header');
    return this.#block[this.#at++] as number;
  }
}

function broken(what: string): Http2Fault {
  return new Http2Fault(ERROR_CODE.COMPRESSION_ERROR, `a block of headers has ${what}`);
}
