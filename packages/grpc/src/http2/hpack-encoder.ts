import { STATIC_TABLE } from './static-table.js';

/** What every peer allows that has not said otherwise; more is not used of one that does. */
const MAX_TABLE_BYTES = 4096;
const ENTRY_BYTES = 32;
/** A byte for the kind, and up to five for each length. */
const MOST_OVERHEAD_BYTES = 12;

/** Those that are the same from call to call. */
const INDEXED = new Set([
  ':authority',
  ':path',
  'content-type',
  'grpc-accept-encoding',
  'grpc-encoding',
  'te',
  'user-agent',
]);
/** For nobody's table, not even that of a proxy behind us. */
const NEVER_INDEXED = new Set(['authorization', 'cookie', 'proxy-authorization']);

const NAME_INDEX = new Map<string, number>();
const STATIC_INDEX = new Map<string, Map<string, number>>();
STATIC_TABLE.forEach(([name, value], place) => {
  if (!NAME_INDEX.has(name)) NAME_INDEX.set(name, place + 1);
  if (value !== '') placesOf(STATIC_INDEX, name).set(value, place + 1);
});

/**
 * Writes the headers of one connection (RFC 7541). What is the same from call to call is in the peer's table
 * and takes a byte or two. Nothing is ever pushed out of that table: when it is full, the rest is spelled out. Texts
 * are sent plainly; Huffman's code would save some bytes of those that are sent once.
 */
export class HpackEncoder {
  readonly #places = new Map<string, Map<string, number>>();
  #entries = 0;
  #tableBytes = 0;
  #maxTableBytes = MAX_TABLE_BYTES;
  #isTableToBeEmptied = false;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. */
  setMaxTableBytes(peerBytes: number): void {
    const maxBytes = Math.min(peerBytes, MAX_TABLE_BYTES);
    if (maxBytes === this.#maxTableBytes) return;
    this.#maxTableBytes = maxBytes;
    this.#isTableToBeEmptied = true;
    this.#places.clear();
    this.#entries = 0;
    this.#tableBytes = 0;
  }

  /** Whether a block may be sent that this has not written. */
  get isInStep(): boolean {
    return !this.#isTableToBeEmptied;
  }

  /** Names and values in turns. */
  encode(fields: readonly string[]): Buffer {
    let room = 2 * MOST_OVERHEAD_BYTES;
    for (const text of fields) room += text.length + MOST_OVERHEAD_BYTES;
    this.#bytes = Buffer.allocUnsafe(room);
    this.#at = 0;
    if (this.#isTableToBeEmptied) {
      this.#isTableToBeEmptied = false;
      this.#integer(0x20, 0x1f, 0);
      if (this.#maxTableBytes > 0) this.#integer(0x20, 0x1f, this.#maxTableBytes);
    }
    for (let place = 0; place < fields.length; place += 2) {
      this.#field(fields[place] as string, fields[place + 1] as string);
    }
    return this.#bytes.subarray(0, this.#at);
  }

  #field(name: string, value: string): void {
    const inStatic = STATIC_INDEX.get(name)?.get(value);
    if (inStatic !== undefined) {
      this.#integer(0x80, 0x7f, inStatic);
      return;
    }
    const entry = this.#places.get(name)?.get(value);
    if (entry !== undefined) {
      this.#integer(0x80, 0x7f, STATIC_TABLE.length + this.#entries - entry);
      return;
    }
    if (INDEXED.has(name) && this.#add(name, value)) this.#integer(0x40, 0x3f, NAME_INDEX.get(name) ?? 0);
    else this.#integer(NEVER_INDEXED.has(name) ? 0x10 : 0x00, 0x0f, NAME_INDEX.get(name) ?? 0);
    if (!NAME_INDEX.has(name)) this.#text(name);
    this.#text(value);
  }

  #add(name: string, value: string): boolean {
    const bytes = name.length + value.length + ENTRY_BYTES;
    if (this.#tableBytes + bytes > this.#maxTableBytes) return false;
    this.#tableBytes += bytes;
    placesOf(this.#places, name).set(value, this.#entries++);
    return true;
  }

  #integer(kind: number, mask: number, value: number): void {
    if (value < mask) {
      this.#bytes[this.#at++] = kind | value;
      return;
    }
    this.#bytes[this.#at++] = kind | mask;
    let rest = value - mask;
    while (rest > 0x7f) {
      this.#bytes[this.#at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#at++] = rest;
  }

  #text(text: string): void {
    this.#integer(0x00, 0x7f, text.length);
    this.#at += this.#bytes.write(text, this.#at, 'latin1');
  }
}

function placesOf(all: Map<string, Map<string, number>>, name: string): Map<string, number> {
  let places = all.get(name);
  if (places === undefined) {
    places = new Map();
    all.set(name, places);
  }
  return places;
}
