/** The frames around a body that comes in chunks, read strictly: sizes in hexadecimal, lines that end as they must. */
import { RequestError } from '../request-error.js';
import { notHttp } from './request-head.js';

/** More than any size of a chunk has; what goes beyond it is an extension. */
const MAX_SIZE_LINE_BYTES = 4096;
/** Of all chunks of a body together: nobody has a use for them. */
const MAX_EXTENSION_BYTES = 16 * 1024;
const MAX_TRAILER_BYTES = 16 * 1024;
const MAX_SIZE_DIGITS = 12;

/** With its extensions: `;name`, `;name=value`, `;name="value"`. */
const SIZE_LINE =
  /^([0-9A-Fa-f]+)(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"[\t\x20\x21\x23-\x5b\x5d-\x7e]*"))?)*$/;
const TRAILER_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*$/;
/** Where a message ends cannot be said behind it: another reader may believe it. */
const FRAMING = /^(?:content-length|transfer-encoding):/i;

type State = 'size' | 'data' | 'after data' | 'trailers' | 'end';

export class ChunkedCoding {
  #state: State = 'size';
  #left = 0;
  /** Of a line that has not come wholly. */
  #line = '';
  #extensionBytes = 0;
  #trailerBytes = 0;

  get isAtEnd(): boolean {
    return this.#state === 'end';
  }

  /** Reads on from there, hands out the pieces of the body, and returns where it stopped: at its end, or the bytes'. */
  push(bytes: Buffer, from: number, piece: (data: Buffer) => void): number {
    let at = from;
    while (at < bytes.length && this.#state !== 'end') {
      if (this.#state === 'data') {
        const end = Math.min(bytes.length, at + this.#left);
        this.#left -= end - at;
        if (this.#left === 0) this.#state = 'after data';
        piece(bytes.subarray(at, end));
        at = end;
      } else {
        at = this.#readLine(bytes, at);
      }
    }
    return at;
  }

  #readLine(bytes: Buffer, from: number): number {
    const newline = bytes.indexOf(NEWLINE, from);
    const end = newline === -1 ? bytes.length : newline + 1;
    if (this.#line.length + end - from > MAX_SIZE_LINE_BYTES) throw tooLong();
    this.#line += bytes.toString('latin1', from, end);
    if (newline === -1) {
      // Said at once: what comes after it may never come.
      if (this.#state === 'size' && !POSSIBLE_SIZE.test(this.#line)) throw notHttp('the size of a chunk');
      return end;
    }
    const line = this.#line;
    this.#line = '';
    if (!line.endsWith('\r\n')) throw notHttp('a line of a chunk that does not end in CRLF');
    this.#took(line.slice(0, -2));
    return end;
  }

  #took(line: string): void {
    if (this.#state === 'after data') {
      if (line !== '') throw notHttp('a chunk that is longer than its declared size');
      this.#state = 'size';
    } else if (this.#state === 'size') {
      this.#tookSize(line);
    } else if (line === '') {
      this.#state = 'end';
    } else {
      this.#trailerBytes += line.length + 2;
      if (this.#trailerBytes > MAX_TRAILER_BYTES) throw tooLong();
      if (!TRAILER_LINE.test(line) || FRAMING.test(line)) throw notHttp('a header behind the chunks');
    }
  }

  #tookSize(line: string): void {
    const digits = SIZE_LINE.exec(line)?.[1];
    if (digits === undefined || digits.length > MAX_SIZE_DIGITS) throw notHttp('the size of a chunk');
    this.#extensionBytes += line.length - digits.length;
    if (this.#extensionBytes > MAX_EXTENSION_BYTES) throw tooLong();
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? 'trailers' : 'data';
  }
}

const NEWLINE = 0x0a;
const POSSIBLE_SIZE = /^(?:[0-9A-Fa-f]+(?:;.*)?)?\r?$/s;

function tooLong(): RequestError {
  return new RequestError('TOO_LARGE', 'expected chunks without long extensions or trailers.');
}
