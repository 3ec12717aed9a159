/** A server under test with the handlers under the test's hand. */
import { onTestFinished } from 'vitest';
import type { HttpCall, HttpRoute } from '../../../src/http/http-route.js';
import { HttpServer, type HttpServerOptions } from '../../../src/http/http-server.js';
import { RawClient } from './raw-client.js';

const TEXT = { 'content-type': 'text/plain' };

export class HttpStage {
  readonly server: HttpServer;
  port = 0;
  url = '';
  /** Calls of `/held`, in the order in which they came. */
  readonly held: HttpCall[] = [];
  readonly faults: { readonly message: string; readonly error: unknown; readonly id: string }[] = [];
  readonly started: string[] = [];
  readonly ended: { readonly label: string; readonly status: number }[] = [];
  #wake: () => void = () => {};

  private constructor(options: Partial<HttpServerOptions>, more: readonly HttpRoute[]) {
    this.server = new HttpServer({
      routes: [
        { method: 'GET', path: '/', handle: (call) => call.reply(200, TEXT, 'root') },
        { method: 'POST', path: '/echo', handle: (call) => call.reply(200, TEXT, call.body) },
        { method: 'GET', path: '/held', handle: (call) => this.#hold(call) },
        { method: 'POST', path: '/held', handle: (call) => this.#hold(call) },
        { method: 'GET', path: '/health', isWork: false, handle: (call) => call.reply(200, TEXT, 'well') },
        ...more,
      ],
      onCall: {
        started: (label) => {
          this.started.push(label);
          this.#wake();
        },
        ended: (label, status) => {
          this.ended.push({ label, status });
          this.#wake();
        },
      },
      log: (message, error, id) => this.faults.push({ message, error, id }),
      ...options,
    });
  }

  static async open(
    options: Partial<HttpServerOptions> = {},
    more: readonly HttpRoute[] = [],
  ): Promise<HttpStage> {
    const stage = new HttpStage(options, more);
    const { port, url } = await stage.server.listen('127.0.0.1', 0);
    onTestFinished(() => stage.server.close());
    stage.port = port;
    stage.url = url;
    return stage;
  }

  async client(): Promise<RawClient> {
    const client = await RawClient.connect(this.port);
    onTestFinished(() => client.hangUp());
    return client;
  }

  /** Until it is so; looked at whenever a call comes, is held or ends. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** The server hears of the end of a connection in a later turn than its client. */
  async connectionsLeft(count: number): Promise<void> {
    while (this.server.openConnections !== count) await new Promise(setImmediate);
  }

  async heldCall(count = 1): Promise<HttpCall> {
    await this.until(() => this.held.length >= count);
    return this.held[count - 1] as HttpCall;
  }

  #hold(call: HttpCall): void {
    this.held.push(call);
    this.#wake();
  }
}
