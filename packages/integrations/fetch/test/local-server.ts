/** An HTTP server on this machine that keeps what it was asked. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** Resolves when the client closes the connection before it has the answer. */
  readonly abandoned: Promise<unknown>;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string, or a value to be sent as JSON. */
  readonly body?: unknown;
}

export interface LocalServer {
  readonly url: string;
  readonly requests: Received[];
  stop(): Promise<void>;
}

/** Stopped when the test has finished. */
export async function localServer(
  answer: (request: Received) => Answer | Promise<Answer>,
): Promise<LocalServer> {
  const requests: Received[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const request: Received = {
      method: incoming.method ?? '',
      url: incoming.url ?? '',
      headers: incoming.headers,
      body: Buffer.concat(chunks).toString(),
      abandoned: once(response, 'close'),
    };
    requests.push(request);
    const { status = 200, headers = {}, body = '' } = await answer(request);
    response.writeHead(status, headers);
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  const stop = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(stop);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, stop };
}
