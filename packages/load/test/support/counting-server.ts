/** A real HTTP server whose responses are scripted, and which counts what it has seen. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Answer = (request: IncomingMessage, response: ServerResponse, number: number) => void;

export class CountingServer {
  /** By method and path. */
  readonly seen = new Map<string, number>();
  total = 0;
  readonly #server: Server;

  private constructor(answer: Answer) {
    this.#server = createServer((request, response) => {
      const number = this.total++;
      const key = `${request.method} ${request.url?.split('?')[0]}`;
      this.seen.set(key, (this.seen.get(key) ?? 0) + 1);
      request.resume().on('end', () => answer(request, response, number));
    });
    this.#server.keepAliveTimeout = 60_000;
  }

  static async start(
    answer: Answer = (_request, response) => response.end('{"ok":true}'),
    port = 0,
  ): Promise<CountingServer> {
    const server = new CountingServer(answer);
    await new Promise<void>((resolve) => server.#server.listen(port, '127.0.0.1', resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
