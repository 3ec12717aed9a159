/** Requests over connections that are kept: fewer microseconds each than fetch, and the time of each. */
import { Agent, request } from 'node:http';

export interface Answer {
  /** 0 when there was none. */
  readonly status: number;
  readonly ms: number;
}

export class Client {
  readonly #agent: Agent;
  readonly #url: string;
  readonly #body: string;

  constructor(url: string, body: string, connections: number) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
    this.#url = url;
    this.#body = body;
  }

  send(): Promise<Answer> {
    const startedAt = performance.now();
    const headers = { 'content-type': 'application/json', 'content-length': this.#body.length };
    return new Promise((resolve) => {
      const settle = (status: number) => resolve({ status, ms: performance.now() - startedAt });
      const call = request(this.#url, { method: 'POST', agent: this.#agent, headers }, (answer) => {
        answer.resume();
        answer.on('end', () => settle(answer.statusCode ?? 0));
        answer.on('error', () => settle(0));
      });
      call.on('error', () => settle(0));
      call.end(this.#body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
