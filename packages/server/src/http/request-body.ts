/**
 * A request's body, whole or not at all: within the limit as it comes, and again once decompressed. Nothing
 * beyond the limit is kept or inflated, so a small body that would grow a thousandfold costs no more than
 * an honest one.
 */
import { brotliDecompress, gunzip, type InputType, inflate, inflateRaw, type ZlibOptions } from 'node:zlib';
import { RequestError } from '../request-error.js';
import { ChunkedCoding } from './chunked-coding.js';

type BodyListener = (error: RequestError | undefined, body: Buffer) => void;

export const NO_BODY = Buffer.alloc(0);

const FIRST_CAPACITY = 64 * 1024;

export type Inflate = (
  body: InputType,
  options: ZlibOptions,
  done: (error: Error | null, body: Buffer) => void,
) => void;

const ENCODINGS: ReadonlyMap<string, Inflate> = new Map<string, Inflate>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', inflateEither],
  ['br', brotliDecompress as Inflate],
]);

/** What undoes a `content-encoding`; nothing for a body that comes as it is. */
export function inflaterOf(encoding: string | undefined): Inflate | undefined {
  if (encoding === undefined) return undefined;
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return undefined;
  const inflater = ENCODINGS.get(name);
  if (inflater !== undefined) return inflater;
  throw new RequestError('UNSUPPORTED_MEDIA_TYPE', `expected gzip, deflate or br, got "${encoding}".`, {
    where: 'content-encoding',
    headers: { 'accept-encoding': 'gzip, deflate, br' },
  });
}

/** Puts a body together as it comes. */
export class BodyReader {
  readonly #maxBytes: number;
  readonly #declaredBytes: number | undefined;
  readonly #chunked: ChunkedCoding | undefined;
  #body: Buffer = NO_BODY;
  #length = 0;
  /** All that came, kept or not. */
  #receivedBytes = 0;
  #isDropped = false;
  /** More has come than is allowed; nothing of it is kept. */
  isTooLarge = false;

  /** Without a number of bytes it comes in chunks. */
  constructor(declaredBytes: number | undefined, maxBytes: number) {
    this.#declaredBytes = declaredBytes;
    this.#maxBytes = maxBytes;
    this.#chunked = declaredBytes === undefined ? new ChunkedCoding() : undefined;
  }

  get isComplete(): boolean {
    return this.#chunked === undefined ? this.#receivedBytes === this.#declaredBytes : this.#chunked.isAtEnd;
  }

  get keptBytes(): number {
    return this.#length;
  }

  get body(): Buffer {
    return this.#body.length === this.#length ? this.#body : this.#body.subarray(0, this.#length);
  }

  /** Nobody wants it: what comes is read to its end and let go. */
  drop(): void {
    this.#isDropped = true;
    this.#body = NO_BODY;
    this.#length = 0;
  }

  /** Takes what belongs to it, and returns where that ends. Throws for chunks that are none. */
  push(bytes: Buffer, from: number): number {
    if (this.#chunked !== undefined) return this.#chunked.push(bytes, from, this.#keep);
    const end = Math.min(bytes.length, from + (this.#declaredBytes as number) - this.#receivedBytes);
    this.#receivedBytes += end - from;
    this.#keep(bytes.subarray(from, end));
    return end;
  }

  readonly #keep = (piece: Buffer): void => {
    if (this.#isDropped) return;
    const needed = this.#length + piece.length;
    if (needed > this.#maxBytes) {
      this.isTooLarge = true;
      this.drop();
      return;
    }
    if (this.#length === 0) {
      this.#body = piece;
    } else {
      // Copied rather than kept in a list: a list of one-byte chunks would take a hundred times the limit.
      if (needed > this.#body.length) {
        const grown = Buffer.allocUnsafeSlow(capacityFor(needed, this.#declaredBytes ?? this.#maxBytes));
        this.#body.copy(grown, 0, 0, this.#length);
        this.#body = grown;
      }
      piece.copy(this.#body, this.#length);
    }
    this.#length = needed;
  };
}

/** JSON of numbers is compressed to a fifth, of many zeros to a fiftieth. What goes beyond is made to be expensive. */
const MOST_TIMES_COMPRESSED = 100;
/** Up to this size it does not matter how small a body has been. */
const ANY_RATIO_BYTES = 64 * 1024;

export function inflateBody(
  inflater: Inflate,
  body: Buffer,
  maxBytes: number,
  done: BodyListener,
  anyRatioBytes = ANY_RATIO_BYTES,
): void {
  const fromRatio = Math.max(anyRatioBytes, MOST_TIMES_COMPRESSED * body.length);
  const most = Math.min(maxBytes, fromRatio);
  const refusal = () => (most === maxBytes ? tooLarge(most, ' decompressed') : tooCompressed(most, body));
  // Zlib refuses a limit of 0; with 1, what is longer than nothing is refused below.
  inflater(body, { maxOutputLength: Math.max(1, most) }, (error, inflated) => {
    if (error === null) {
      done(inflated.length > most ? refusal() : undefined, inflated);
    } else if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      done(refusal(), NO_BODY);
    } else {
      const broken = new RequestError(
        'BAD_REQUEST',
        `expected data compressed as content-encoding says, got data that cannot be decompressed (${error.message}).`,
        { where: 'body', cause: error },
      );
      done(broken, NO_BODY);
    }
  });
}

export function tooLarge(maxBytes: number, state = ''): RequestError {
  const message = `expected at most ${maxBytes} bytes${state} (server.limits.body_bytes), got more.`;
  return new RequestError('TOO_LARGE', message, { where: 'body' });
}

function tooCompressed(maxBytes: number, body: Buffer): RequestError {
  const message = `expected at most ${maxBytes} bytes decompressed from ${body.length}, got more: send it uncompressed.`;
  return new RequestError('TOO_LARGE', message, { where: 'body' });
}

/** Doubles, so that each byte is copied about once however small the chunks; never beyond what may come. */
function capacityFor(needed: number, most: number): number {
  return Math.max(needed, Math.min(most, Math.max(2 * needed, FIRST_CAPACITY)));
}

/** `deflate` means with zlib's two bytes in front; some clients leave them out. */
function inflateEither(
  body: InputType,
  options: ZlibOptions,
  done: (error: Error | null, body: Buffer) => void,
): void {
  const isWrapped = ((body as Buffer)[0] ?? 8) % 16 === 8;
  (isWrapped ? inflate : inflateRaw)(body, options, done);
}
