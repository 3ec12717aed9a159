/**
 * Puts the replies of Redis together (RESP 2), from the pieces they come in. What is complete is never looked at again,
 * and what is large is put together once, however many pieces it comes in.
 */
import type { Reply } from './link.js';
import { ReplyError } from './link-errors.js';

/** An error may stand within a list, too. */
export type ParsedReply = Reply | ReplyError | readonly ParsedReply[];

/** A list of which some are still to come. */
interface OpenList {
  readonly items: ParsedReply[];
  readonly size: number;
}

const CR = 13;
const LF = 10;
const MINUS = 45;
const ZERO = 48;
const LINE_END = 2;
const [TEXT, ERROR, INTEGER, BULK, LIST] = [43, 45, 58, 36, 42] as const;
const MOST_DIGITS = 19;
/** Redis has no larger value, unless it is told to (proto-max-bulk-len). */
const MOST_BULK_BYTES = 512 * 1024 * 1024;
/** Of one reply: the deepest that is asked for here has four levels, the largest some thousand elements. */
const MOST_LEVELS = 32;
const MOST_ELEMENTS = 1024 * 1024;
const MOST_REPLY_BYTES = 2 ** 31;
/** Errors are lines, and a script's may be long; what has no end at all is none. */
const MOST_LINE_BYTES = 1024 * 1024;
/** The value is not complete. */
const MORE = Symbol('more');
/** The value is a list, whose items come next. */
const OPENED = Symbol('opened');
const NOTHING = Buffer.alloc(0);

export class ReplyParser {
  /** Bulk strings as text; else as Buffers. */
  isText = true;
  readonly #onReply: (reply: ParsedReply) => void;
  readonly #open: OpenList[] = [];
  #bytes: Buffer = NOTHING;
  #at = 0;
  /** What has come and was not looked at, as it cannot make the value complete. */
  #later: Buffer[] = [];
  #laterLength = 0;
  /** How many bytes the value takes that is being waited for, as far as is known. */
  #needed = 0;
  /** Of the reply that is being read: its elements, announced ones included, and the bytes of its strings. */
  #elements = 0;
  #replyBytes = 0;

  constructor(onReply: (reply: ParsedReply) => void) {
    this.#onReply = onReply;
  }

  /** Calls back for each reply that is complete now. The chunk may be used again afterwards. Throws when it is not RESP. */
  push(chunk: Buffer): void {
    if (this.#bytes.length === 0) {
      this.#bytes = chunk;
    } else {
      // A line that is not complete has no CR, or ends with it.
      const mayEndLine = this.#bytes.at(-1) === CR || chunk.includes(CR);
      this.#later.push(Buffer.from(chunk));
      this.#laterLength += chunk.length;
      const length = this.#bytes.length + this.#laterLength;
      if (this.#needed > 0 ? length < this.#needed : !mayEndLine && length <= MOST_LINE_BYTES) return;
      this.#bytes = Buffer.concat([this.#bytes, ...this.#later]);
      this.#later = [];
      this.#laterLength = 0;
    }
    this.#needed = 0;
    while (this.#at < this.#bytes.length) {
      const value = this.#value();
      if (value === MORE) {
        this.#bytes = Buffer.from(this.#bytes.subarray(this.#at));
        this.#at = 0;
        return;
      }
      if (value !== OPENED) this.#complete(value);
    }
    this.#bytes = NOTHING;
    this.#at = 0;
  }

  #complete(value: ParsedReply): void {
    let done = value;
    for (let list = this.#open.at(-1); list !== undefined; list = this.#open.at(-1)) {
      list.items.push(done);
      if (list.items.length < list.size) return;
      this.#open.pop();
      done = list.items;
    }
    this.#elements = 0;
    this.#replyBytes = 0;
    this.#onReply(done);
  }

  /** The next value, and past it; or nothing has happened, when it is not complete. */
  #value(): ParsedReply | typeof MORE | typeof OPENED {
    const bytes = this.#bytes;
    const start = this.#at + 1;
    let end = start;
    while (end < bytes.length && bytes[end] !== CR) end += 1;
    const type = bytes[this.#at] as number;
    if (end + 1 >= bytes.length) {
      if (!TYPES.includes(type)) throw notRedis(`a reply that begins with byte ${type}`);
      if (end - start > MOST_LINE_BYTES) throw notRedis(`a line of more than ${MOST_LINE_BYTES} bytes`);
      return MORE;
    }
    if (bytes[end + 1] !== LF) throw notRedis(`a line that ends with byte ${bytes[end + 1]}`);
    const next = end + LINE_END;
    switch (type) {
      case BULK: {
        const length = lengthIn(bytes, start, end);
        if (length >= 0) return this.#bulk(next, length);
        this.#at = next;
        return null;
      }
      case INTEGER:
        this.#at = next;
        return integer(bytes, start, end);
      case LIST: {
        const size = lengthIn(bytes, start, end);
        this.#at = next;
        if (size <= 0) return size < 0 ? null : [];
        return this.#list(size);
      }
      case TEXT:
        this.#at = next;
        this.#count(end - start);
        return bytes.toString('utf8', start, end);
      case ERROR:
        this.#at = next;
        this.#count(end - start);
        return new ReplyError(bytes.toString('utf8', start, end));
      default:
        throw notRedis(`a reply that begins with byte ${type}`);
    }
  }

  #list(size: number): typeof OPENED {
    this.#elements += size;
    if (this.#elements > MOST_ELEMENTS) throw notRedis(`a reply with more than ${MOST_ELEMENTS} elements`);
    if (this.#open.length === MOST_LEVELS)
      throw notRedis(`lists nested more than ${MOST_LEVELS} levels deep`);
    this.#open.push({ items: [], size });
    return OPENED;
  }

  #count(bytes: number): void {
    this.#replyBytes += bytes;
    if (this.#replyBytes > MOST_REPLY_BYTES) throw notRedis(`a reply of more than ${MOST_REPLY_BYTES} bytes`);
  }

  #bulk(from: number, length: number): string | Buffer | typeof MORE {
    if (length > MOST_BULK_BYTES) throw notRedis(`a value of ${length} bytes`);
    const to = from + length;
    if (to + LINE_END > this.#bytes.length) {
      this.#needed = to + LINE_END - this.#at;
      return MORE;
    }
    if (this.#bytes[to] !== CR || this.#bytes[to + 1] !== LF) {
      throw notRedis(`a value that does not end after its ${length} bytes`);
    }
    this.#at = to + LINE_END;
    this.#count(length);
    return this.isText ? this.#bytes.toString('utf8', from, to) : Buffer.from(this.#bytes.subarray(from, to));
  }
}

const TYPES: readonly number[] = [TEXT, ERROR, INTEGER, BULK, LIST];

/** -1 for what is not there. */
function lengthIn(bytes: Buffer, from: number, to: number): number {
  const length = integer(bytes, from, to);
  if (length < -1) throw notRedis(`the length ${length}`);
  return length;
}

function integer(bytes: Buffer, from: number, to: number): number {
  const isNegative = bytes[from] === MINUS;
  const first = isNegative ? from + 1 : from;
  if (first === to || to - first > MOST_DIGITS) throw notRedis(`a number of ${to - first} digits`);
  let value = 0;
  for (let i = first; i < to; i++) {
    const digit = (bytes[i] as number) - ZERO;
    if (digit < 0 || digit > 9) throw notRedis(`a number that contains byte ${bytes[i]}`);
    value = value * 10 + digit;
  }
  return isNegative ? -value : value;
}

/** Nothing that follows could be told apart any more. */
function notRedis(what: string): Error {
  return new Error(`expected a reply of Redis, got ${what}`);
}
