/** Finds the requests in the bytes of a connection, however they are cut, and tells of each as soon as it can. */
import { RequestError } from '../request-error.js';
import type { HttpLimits } from './http-limits.js';
import { BodyReader, NO_BODY } from './request-body.js';
import { mayBecomeHead, notHttp, parseRequestHead, type RequestHead } from './request-head.js';

const EMPTY_LINE = Buffer.from('\r\n\r\n');
const CR = 0x0d;
const LF = 0x0a;

export interface RequestReaderListener {
  /** No more requests are wanted: what follows the last one is not looked at. */
  readonly isClosing: boolean;
  /** Whether another request may begin now. If not, its bytes wait until the next `push`. */
  readonly mayBegin: boolean;
  /** Whether anybody wants the body of the last request. */
  readonly isBodyWanted: boolean;
  waits(): void;
  /** The first bytes of a head are here. */
  headIsComing(): void;
  /** A head has come, and the body has, or has not. */
  begun(head: RequestHead, isWhole: boolean): void;
  bodyIsTooLarge(): void;
  /** So much of the body is here. False where there is no room for it: then it is not wanted any more. */
  mayKeep(bytes: number): boolean;
  /** The body of the last request has come to its end; of one that nobody wants there is nothing. */
  completed(body: Buffer): void;
}

export class RequestReader {
  readonly #limits: HttpLimits;
  readonly #listener: RequestReaderListener;
  /** What came and could not be read yet: most often the first bytes of a head. */
  #rest: Buffer = NO_BODY;
  #body: BodyReader | undefined;

  constructor(limits: HttpLimits, listener: RequestReaderListener) {
    this.#limits = limits;
    this.#listener = listener;
  }

  get isInHead(): boolean {
    return this.#rest.length > 0;
  }

  get isInBody(): boolean {
    return this.#body !== undefined;
  }

  /** Reads on with these bytes, or with those that waited. Throws what is wrong with them. */
  push(came: Buffer): void {
    const rest = this.#rest;
    const bytes = rest.length === 0 ? came : came.length === 0 ? rest : Buffer.concat([rest, came]);
    this.#rest = NO_BODY;
    let at = 0;
    while (at < bytes.length) {
      if (this.#body !== undefined) {
        at = this.#readBody(this.#body, bytes, at);
      } else if (this.#listener.isClosing) {
        return;
      } else if (!this.#listener.mayBegin) {
        this.#rest = bytes.subarray(at);
        this.#listener.waits();
        return;
      } else {
        while (bytes[at] === CR && bytes[at + 1] === LF) at += 2;
        const end = this.#endOfHead(bytes, at);
        if (end === -1) {
          this.#keepHead(bytes.subarray(at));
          return;
        }
        const head = parseRequestHead(bytes.toString('latin1', at, end));
        at = this.#begin(head, bytes, end + EMPTY_LINE.length);
      }
    }
  }

  /** Where the body ends is not known any more, or does not matter. */
  leaveBody(): void {
    this.#body = undefined;
  }

  forgetRest(): void {
    this.#rest = NO_BODY;
  }

  /** -1 when it has not come yet. */
  #endOfHead(bytes: Buffer, from: number): number {
    const end = bytes.indexOf(EMPTY_LINE, from);
    const { maxHeaderBytes } = this.#limits;
    if ((end === -1 ? bytes.length : end + EMPTY_LINE.length) - from > maxHeaderBytes) {
      const expected = `expected at most ${maxHeaderBytes} bytes of path and headers, got more.`;
      throw new RequestError('HEADERS_TOO_LARGE', expected);
    }
    return end;
  }

  #keepHead(rest: Buffer): void {
    if (rest.length === 0) return;
    if (!mayBecomeHead(rest.toString('latin1'))) throw notHttp('the first bytes');
    this.#rest = rest;
    this.#listener.headIsComing();
  }

  /** Returns where its body ends, as far as that has come. */
  #begin(head: RequestHead, bytes: Buffer, bodyAt: number): number {
    const { bodyBytes } = head;
    // Most bodies come with their heads.
    if (bodyBytes !== undefined && bodyAt + bodyBytes <= bytes.length) {
      const end = bodyAt + bodyBytes;
      this.#listener.begun(head, true);
      this.#listener.completed(bodyBytes === 0 ? NO_BODY : bytes.subarray(bodyAt, end));
      return end;
    }
    this.#body = new BodyReader(bodyBytes, this.#limits.maxBodyBytes);
    this.#listener.begun(head, false);
    return bodyAt;
  }

  #readBody(body: BodyReader, bytes: Buffer, from: number): number {
    if (!this.#listener.isBodyWanted) body.drop();
    const end = body.push(bytes, from);
    if (body.isTooLarge && this.#listener.isBodyWanted) this.#listener.bodyIsTooLarge();
    else if (this.#listener.isBodyWanted && !this.#listener.mayKeep(body.keptBytes)) body.drop();
    if (body.isComplete) {
      this.#body = undefined;
      this.#listener.completed(body.body);
    }
    return end;
  }
}
