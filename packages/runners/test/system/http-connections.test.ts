/** HTTP connections to servers that violate the protocol. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { VirtualClock } from 'batchwise';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createUpstreamRunner, type Runner } from '../../src/index.js';
import { HttpCaller } from '../../src/upstream/http-caller.js';
import { enqueue } from '../support/runner-outcome.js';
import { settingsWith } from '../support/settings.js';
import { until } from '../support/until.js';

interface RawServer {
  readonly url: string;
  /** All connections since the start. */
  readonly sockets: readonly Socket[];
}

/** Called with the body of each request. */
async function rawServer(onRequest: (socket: Socket, body: string) => void): Promise<RawServer> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      text += chunk;
      const body = /\r\n\r\n(\{.*\})$/s.exec(text)?.[1];
      if (body === undefined) return;
      text = '';
      onRequest(socket, body);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/m:predict`, sockets };
}

const response = (status: string, body: string) =>
  `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

function predictions(body: string): string {
  const { instances } = JSON.parse(body) as { instances: unknown[] };
  return JSON.stringify({ predictions: instances.map((item) => `answer to ${item}`) });
}

async function runnerFor(url: string): Promise<Runner> {
  const defaults = settingsWith();
  const upstream = { ...defaults.upstream, url: [url], maxFailures: 1000 };
  const runner = createUpstreamRunner({ name: 'm', settings: { ...defaults, upstream } });
  onTestFinished(() => runner.close({ timeoutMs: 0 }));
  await runner.ready;
  return runner;
}

async function ask(runner: Runner, item: unknown) {
  const outcome = enqueue(runner, item);
  await until(() => outcome.settled > 0, 'an answer');
  return outcome.result ?? outcome.error?.message;
}

describe('an idle connection', () => {
  test.each([
    ['a duplicate response', '200 OK', undefined],
    ['the timeout of a load balancer', '408 Request Timeout', '{}'],
  ])('with unsolicited data is closed: %s', async (_, status, other) => {
    // Root cause: an agent does not read its idle sockets. Unsolicited data was read as the response to the next
    // request, and all later responses were shifted.
    const server = await rawServer((socket, body) => {
      const answer = predictions(body);
      socket.write(response('200 OK', answer));
      // After the response is read, when the agent gets the connection back.
      until(() => arrived.has(answer), 'the answer').then(() =>
        socket.write(response(status, other ?? answer)),
      );
    });
    const arrived = new Set<string>();
    const runner = await runnerFor(server.url);
    for (let i = 1; i <= 5; i++) {
      expect(await ask(runner, i)).toBe(`answer to ${i}`);
      arrived.add(JSON.stringify({ predictions: [`answer to ${i}`] }));
      await until(() => server.sockets.at(-1)?.destroyed, 'the connection to be closed');
    }
    expect(server.sockets).toHaveLength(5);
  });

  test('without unsolicited data is kept', async () => {
    const server = await rawServer((socket, body) => socket.write(response('200 OK', predictions(body))));
    const runner = await runnerFor(server.url);
    for (let i = 1; i <= 5; i++) expect(await ask(runner, i)).toBe(`answer to ${i}`);
    expect(server.sockets).toHaveLength(1);
  });
});

describe('a call without a free connection', () => {
  async function waiting(signal?: AbortSignal) {
    const asked: string[] = [];
    const server = await rawServer((_, body) => asked.push(body)); // never answers
    const { url } = server;
    const clock = new VirtualClock();
    const caller = new HttpCaller({ url, tls: undefined, connections: 1, clock });
    onTestFinished(() => caller.close());
    const post = { method: 'POST', url } as const;
    void caller.send({ ...post, body: Buffer.from('{"first": 1}'), timeoutMs: 60_000 });
    await until(() => asked.length > 0, 'the first call');
    const second = caller.send({ ...post, body: Buffer.from('{"second": 2}'), timeoutMs: 200, signal });
    return { second, clock };
  }

  // Root cause: Node emits no event when a request without a socket is destroyed, so the call waited for a free
  // connection.
  test('ends after its timeout', async () => {
    const { second, clock } = await waiting();
    await clock.advance(200);
    expect(await second).toMatchObject({ isOutage: true, error: { code: 'DEADLINE_EXCEEDED' } });
  });

  test('ends when all callers have cancelled', async () => {
    const controller = new AbortController();
    const { second } = await waiting(controller.signal);
    controller.abort();
    expect(await second).toMatchObject({ isOutage: false, error: { code: 'CANCELLED' } });
  });
});

test('errors for callers contain neither a key in the URL nor the address', async () => {
  // Root cause: error messages contained the whole URL, as those of Node do.
  const server = await rawServer((socket) => socket.destroy());
  const runner = await runnerFor(`${server.url}?key=SECRET`);
  const told = [await ask(runner, 1)];
  const gone = await runnerFor('http://127.0.0.1:1/x:predict?key=SECRET');
  told.push(await ask(gone, 1));
  expect(told).toEqual([
    'm: the upstream: the connection failed (ECONNRESET).',
    'm: the upstream: the connection failed (ECONNREFUSED).',
  ]);
});
