/** What happens on the connections of HTTP, with servers that do what servers should not. */
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
  /** Those that were ever opened. */
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

describe('an idle connection on which something comes unasked', () => {
  test.each([
    ['an answer twice', '200 OK', undefined],
    ['the time-out of a load balancer', '408 Request Timeout', '{}'],
  ])('is closed: %s', async (_, status, other) => {
    // Idle sockets of an agent are read by nobody: what came unasked was the answer to the next request, and so on.
    const server = await rawServer((socket, body) => {
      const answer = predictions(body);
      socket.write(response('200 OK', answer));
      // Once the answer has been read: its reader puts the connection back, then.
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

  test('is one of a server that has lost count; those of others are kept', async () => {
    const server = await rawServer((socket, body) => socket.write(response('200 OK', predictions(body))));
    const runner = await runnerFor(server.url);
    for (let i = 1; i <= 5; i++) expect(await ask(runner, i)).toBe(`answer to ${i}`);
    expect(server.sockets).toHaveLength(1);
  });
});

describe('a call that waits for a connection', () => {
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

  // Node tells nobody that a request is destroyed that has no socket yet: it was waited for until one was free.
  test('is over when its time is', async () => {
    const { second, clock } = await waiting();
    await clock.advance(200);
    expect(await second).toMatchObject({ isOutage: true, error: { code: 'DEADLINE_EXCEEDED' } });
  });

  test('is over when its callers have gone', async () => {
    const controller = new AbortController();
    const { second } = await waiting(controller.signal);
    controller.abort();
    expect(await second).toMatchObject({ isOutage: false, error: { code: 'CANCELLED' } });
  });
});

test('a key in the URL is not told to callers, and neither is the address', async () => {
  // Errors were called by their URL, all of it, and so were the errors of Node.
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
