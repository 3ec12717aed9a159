/** A request without a socket: goes through the real router and keeps the answer. */
import type { IncomingHttpHeaders } from 'node:http';
import type { HttpCall, HttpRoute } from '../../src/http/http-route.js';
import { Router } from '../../src/http/router.js';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: IncomingHttpHeaders;
  readonly body?: string | Buffer;
}

export class FakeCall implements HttpCall {
  readonly peer = '127.0.0.1:50000';
  readonly id = 'request-1';
  readonly method: string;
  readonly path: string;
  readonly query = new URLSearchParams();
  readonly params: ReadonlyMap<string, string>;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  answer: Answer | undefined;
  error: unknown;
  #isGone = false;
  #onGone: (() => void) | undefined;

  constructor(request: FakeRequest, params: ReadonlyMap<string, string>) {
    this.method = request.method;
    this.path = request.path;
    this.params = params;
    this.headers = request.headers ?? {};
    this.body = Buffer.from(request.body ?? '');
  }

  get isSettled(): boolean {
    return this.answer !== undefined || this.error !== undefined || this.#isGone;
  }

  get hasGoneListener(): boolean {
    return this.#onGone !== undefined;
  }

  reply(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): void {
    if (!this.isSettled) this.answer = { status, headers, body };
  }

  fail(error: unknown): void {
    if (!this.isSettled) this.error = error;
  }

  onGone(listener: () => void): void {
    this.#onGone = listener;
  }

  hangUp(): void {
    if (this.isSettled) return;
    this.#isGone = true;
    this.#onGone?.();
  }

  get json(): Record<string, unknown> {
    if (this.answer === undefined) throw this.error ?? new Error('There is no answer yet.');
    return JSON.parse(this.answer.body.toString());
  }

  get message(): string {
    return this.error instanceof Error ? this.error.message : `no error: ${JSON.stringify(this.answer)}`;
  }
}

/** Handlers of the protocols are synchronous, so the call is through when this returns, unless its runner waits. */
export function callRoutes(routes: readonly HttpRoute[], request: FakeRequest): FakeCall {
  const { route, params } = new Router(routes).find(request.method, request.path);
  const call = new FakeCall(request, params);
  try {
    route.handle(call);
  } catch (error) {
    call.fail(error);
  }
  return call;
}
