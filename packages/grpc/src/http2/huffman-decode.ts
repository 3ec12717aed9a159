import { ERROR_CODE } from './error-code.js';
import { Http2Fault } from './http2-fault.js';
import { END_OF_STRING, HUFFMAN_TREE } from './huffman-code.js';

/** No code is shorter than 5 bits. */
const MOST_SYMBOLS_PER_BYTE = 8 / 5;
const MOST_PADDING_BITS = 7;

/** The text between two places of a block, a character a byte. */
export function huffmanDecode(bytes: Buffer, from: number, to: number): string {
  const text = Buffer.allocUnsafe(Math.ceil((to - from) * MOST_SYMBOLS_PER_BYTE));
  let length = 0;
  let node = 0;
  let bitsSince = 0;
  let isOnes = true;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number;
    for (let shift = 7; shift >= 0; shift--) {
      const bit = (byte >>> shift) & 1;
      const next = HUFFMAN_TREE[2 * node + bit] as number;
      if (next < 0) {
        if (~next === END_OF_STRING) throw broken('the end-of-string symbol');
        text[length++] = ~next;
        node = 0;
        bitsSince = 0;
        isOnes = true;
      } else {
        node = next;
        bitsSince += 1;
        if (bit === 0) isOnes = false;
      }
    }
  }
  if (bitsSince > MOST_PADDING_BITS || !isOnes) throw broken('padding other than up to 7 ones');
  return text.toString('latin1', 0, length);
}

function broken(what: string): Http2Fault {
  return new Http2Fault(ERROR_CODE.COMPRESSION_ERROR, `a Huffman-coded header has ${what}`);
}
