import type { IncomingHttpHeaders } from 'node:http';
import type { HttpCall } from '../../../src/http/http-route.js';
import { problemOf } from '../../../src/http/problem.js';
import { promiseWithResolvers } from './promise-with-resolvers.js';

export interface FakeReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  readonly error: unknown;
}

interface FakeRequest {
  readonly method?: string;
  readonly path?: string;
  readonly body?: string | Buffer | object;
  readonly headers?: IncomingHttpHeaders;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
}

/** A call without a socket. `replied` resolves with the first answer. */
export class FakeCall implements HttpCall {
  readonly peer = '127.0.0.1:50000';
  readonly id = 'request-1';
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly params: ReadonlyMap<string, string>;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly replied: Promise<FakeReply>;
  isSettled = false;
  readonly listeners: (() => void)[] = [];
  readonly #replied = promiseWithResolvers<FakeReply>();

  constructor({
    method = 'POST',
    path = '/',
    body = '',
    headers = {},
    params = {},
    query = '',
  }: FakeRequest = {}) {
    this.method = method;
    this.path = path;
    this.query = new URLSearchParams(query);
    this.params = new Map(Object.entries(params));
    this.headers = headers;
    this.body = Buffer.isBuffer(body)
      ? body
      : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    this.replied = this.#replied.promise;
  }

  reply(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): void {
    this.#settle({ status, headers, body, error: undefined });
  }

  fail(error: unknown): void {
    const { status, headers, body } = problemOf(error, this.id);
    this.#settle({ status, headers, body, error });
  }

  onGone(listener: () => void): void {
    this.listeners.push(listener);
  }

  hangUp(): void {
    if (this.isSettled) return;
    this.isSettled = true;
    for (const listener of this.listeners) listener();
  }

  #settle(reply: FakeReply): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.#replied.resolve(reply);
  }
}
