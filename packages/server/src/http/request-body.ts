/**
 * A request's body, whole or not at all: within the limit as it comes, and again once decompressed. Nothing
 * beyond the limit is kept or inflated, so a small body that would grow a thousandfold costs no more than
 * an honest one.
 */
import type { IncomingMessage } from 'node:http';
import { brotliDecompress, gunzip, type InputType, inflate, inflateRaw, type ZlibOptions } from 'node:zlib';
import { RequestError } from '../request-error.js';

export type BodyListener = (error: RequestError | undefined, body: Buffer) => void;

export const NO_BODY = Buffer.alloc(0);

const FIRST_CAPACITY = 64 * 1024;

type Inflate = (
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

/** Calls back once, unless the client hangs up first: then never. */
export function receiveBody(
  request: IncomingMessage,
  declaredBytes: number | undefined,
  maxBytes: number,
  done: BodyListener,
): void {
  let body: Buffer = NO_BODY;
  let length = 0;
  let isOver = false;
  request.on('data', (chunk: Buffer) => {
    if (isOver) return;
    const needed = length + chunk.length;
    if (needed > maxBytes) {
      isOver = true;
      body = NO_BODY;
      done(tooLarge(maxBytes), NO_BODY);
      return;
    }
    if (length === 0) {
      body = chunk;
    } else {
      // Copied rather than kept in a list: a list of one-byte chunks would take a hundred times the limit.
      if (needed > body.length) {
        const grown = Buffer.allocUnsafeSlow(capacityFor(needed, declaredBytes ?? maxBytes));
        body.copy(grown, 0, 0, length);
        body = grown;
      }
      chunk.copy(body, length);
    }
    length = needed;
  });
  request.on('end', () => {
    if (isOver) return;
    isOver = true;
    done(undefined, body.length === length ? body : body.subarray(0, length));
  });
}

export function inflateBody(inflater: Inflate, body: Buffer, maxBytes: number, done: BodyListener): void {
  // Zlib refuses a limit of 0; with 1, what is longer than nothing is refused below.
  inflater(body, { maxOutputLength: Math.max(1, maxBytes) }, (error, inflated) => {
    if (error === null) {
      done(inflated.length > maxBytes ? tooLarge(maxBytes, 'decompressed') : undefined, inflated);
    } else if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      done(tooLarge(maxBytes, 'decompressed'), NO_BODY);
    } else {
      const refusal = new RequestError(
        'BAD_REQUEST',
        `expected data compressed as content-encoding says, got what cannot be decompressed (${error.message}).`,
        { where: 'body', cause: error },
      );
      done(refusal, NO_BODY);
    }
  });
}

export function tooLarge(maxBytes: number, state = ''): RequestError {
  const what = state === '' ? 'bytes' : `bytes ${state}`;
  return new RequestError('TOO_LARGE', `expected at most ${maxBytes} ${what}, got more.`, { where: 'body' });
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
