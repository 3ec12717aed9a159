/** A server in one process, started by code: what it needs to start, and how it changes and ends. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ConfigFlags } from '../src/config/config-flags.js';
import { loadConfig } from '../src/config/load-config.js';
import type { RunningServer } from '../src/running-server.js';
import { serve } from '../src/serve.js';
import { setGate } from './serve-support/gate.js';

const service = fileURLToPath(new URL('./serve-support/gated-service.ts', import.meta.url));

const faulty = fileURLToPath(new URL('./serve-support/faulty-service.ts', import.meta.url));

let folder: string;
let logged: string[];
const servers: RunningServer[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-serve-'));
  logged = [];
});

afterEach(() => {
  setGate(undefined);
  for (const server of servers.splice(0)) server.kill();
  rmSync(folder, { recursive: true });
});

const configure = (yaml: string) => writeFileSync(join(folder, 'batchwise.yaml'), yaml);

async function start(flags: ConfigFlags = { service }): Promise<RunningServer> {
  const server = await serve({
    load: (runnerNames) => loadConfig({ cwd: folder, flags: { port: 0, ...flags }, runnerNames }),
    log: (line) => logged.push(line),
  });
  servers.push(server);
  return server;
}

function double(server: RunningServer, number: number, headers = {}): Promise<Response> {
  return fetch(`${server.address.url}/double`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ number }),
  });
}

/** Closed until it is opened; tells when a batch has come to it, and which ones came. */
function closedGate() {
  const batches: (readonly number[])[] = [];
  let open = () => {};
  let enter = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  const record = (numbers: readonly number[]) => {
    batches.push(numbers);
    enter();
  };
  setGate({ opened, entered: record });
  return { open, entered, batches };
}

describe('a start', () => {
  test('serves the service', async () => {
    const server = await start();
    expect(server.runners).toEqual(['doubler', 'grouper']);
    expect(await (await double(server, 21)).json()).toEqual({ doubled: 42, company: 1 });
    expect((await fetch(`${server.address.url}/readyz`)).status).toBe(200);
  });

  test('warns of a timeout above ten minutes, which may have been meant in milliseconds', async () => {
    configure('runners: {timeout: 10m, doubler: {timeout: 3000}, grouper: {timeout: unlimited}}');
    await start();
    expect(logged).toEqual(['runners.doubler.timeout is 50m. A plain number is in seconds.']);
  });

  test('needs something to serve', async () => {
    await expect(start({})).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('Nothing to serve'),
    });
  });

  test('needs models that are there', async () => {
    await expect(start({ models: [join(folder, 'rose.onnx')] })).rejects.toThrow(
      /There is no file .*rose\.onnx for the model rose\./,
    );
  });

  test('needs models whose names a file can have', async () => {
    await expect(start({ models: [join(folder, 'ro\0se.onnx')] })).rejects.toMatchObject({
      problems: [{ path: 'models[0]', message: expect.stringMatching(/expected .*, got the string/) }],
    });
  });

  test('needs another name for a model that is called like a runner of the service', async () => {
    writeFileSync(join(folder, 'doubler.onnx'), '');
    // Both are named: the service may come from a file of settings that nobody thinks of.
    await expect(start({ service, models: [join(folder, 'doubler.onnx')] })).rejects.toThrow(
      /two runners named doubler: the model .*doubler\.onnx, and a runner of .*gated-service\.ts\. /,
    );
  });

  test('refuses settings of a runner that the service does not have', async () => {
    configure('runners:\n  trebler:\n    batching:\n      max_batch_size: 3\n');
    await expect(start()).rejects.toThrow(/there is no runner trebler.*doubler/);
  });

  test('refuses a port that is taken, and can be tried again', async () => {
    const first = await start();
    await expect(start({ service, port: first.address.port })).rejects.toThrow(/Cannot listen on .*already/);
    expect((await double(first, 1)).status).toBe(200);
    await first.stop();
    expect((await double(await start({ service, port: first.address.port }), 1)).status).toBe(200);
  });
});

/** So many requests wait. */
async function gathered(server: RunningServer, count: number, runner = 'doubler'): Promise<void> {
  const depth = new RegExp(`^batchwise_queue_depth\\{runner="${runner}"\\} ${count}$`, 'm');
  const look = async () => depth.test(await (await fetch(`${server.address.url}/metrics`)).text());
  while (!(await look())) await new Promise((resolve) => setImmediate(resolve));
}

describe('requests with a priority and a tenant of their own choice', () => {
  const ONE_BY_ONE =
    'runners: { doubler: { batching: { max_batch_size: 1, target_latency_ms: unlimited } } }\n';

  /** In which order requests run of which the first half has no such headers, and came first. */
  async function order(headers: (i: number) => Record<string, string>): Promise<number[]> {
    const server = await start();
    const { open, entered, batches } = closedGate();
    const answers = [double(server, 0)];
    await entered;
    for (let i = 1; i <= 8; i++) {
      answers.push(double(server, i, i <= 4 ? {} : headers(i)));
      await gathered(server, i);
    }
    open();
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200);
    return batches.flat();
  }

  const ARRIVED = [0, 1, 2, 3, 4, 5, 6, 7, 8];

  // A client with the highest priority, or a new tenant for each request, kept all others waiting.
  test.each([
    ['a priority', () => ({ 'batchwise-priority': '100' })],
    ['a tenant', (i: number) => ({ 'batchwise-tenant': `t${i}` })],
    ['both, unreadable', () => ({ 'batchwise-priority': 'high', 'batchwise-tenant': 'é'.repeat(200) })],
  ])('do not overtake others: %s', async (_what, headers) => {
    configure(ONE_BY_ONE);
    expect(await order(headers)).toEqual(ARRIVED);
  });

  test.each([
    [
      'priority',
      () => ({ 'batchwise-priority': '100', 'batchwise-tenant': 'x' }),
      [0, 5, 6, 7, 8, 1, 2, 3, 4],
    ],
    ['tenant', () => ({ 'batchwise-tenant': 'x' }), [0, 5, 1, 6, 2, 7, 3, 8, 4]],
  ])('do so where the settings trust the header: %s', async (header, headers, expected) => {
    configure(`server: { trusted_headers: [${header}] }\n${ONE_BY_ONE}`);
    expect(await order(headers)).toEqual(expected);
  });
});

// A connection with a new group in each request got a batch for each of them, and all others waited for those.
test('a connection whose requests share no batch gets its share of the batches and no more', async () => {
  configure('runners: { grouper: { batching: { max_batch_size: 4, target_latency_ms: unlimited } } }\n');
  const server = await start();
  const { open, entered, batches } = closedGate();
  const ask = (number: number) =>
    fetch(`${server.address.url}/group`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ number }),
    });
  const answers = [ask(0)];
  await entered;
  const flood = connect({ host: '127.0.0.1', port: server.address.port });
  const flooded = [1, 2, 3, 4, 5, 6, 7, 8];
  for (const number of flooded) {
    const body = JSON.stringify({ number });
    flood.write(
      `POST /group HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  }
  await gathered(server, flooded.length, 'grouper');
  for (const count of [1, 2, 3]) {
    answers.push(ask(0));
    await gathered(server, flooded.length + count, 'grouper');
  }
  open();
  for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200);
  expect(batches.slice(0, 3)).toEqual(expect.arrayContaining([[0], [0, 0, 0]]));
  flood.destroy();
});

/** The status and the body of a request with these headers; `fetch` sets its own `Host`. */
function ask(
  server: RunningServer,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body = '',
): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const { port } = server.address;
    const asking = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode, text }));
      response.on('error', reject);
    });
    asking.on('error', reject);
    asking.end(body);
  });
}

describe('the host that a request names', () => {
  const JSON_BODY = { 'content-type': 'application/json' };
  const REQUESTS: [method: string, path: string][] = [
    ['GET', '/metrics'],
    ['GET', '/livez'],
    ['GET', '/readyz'],
    ['GET', '/docs'],
    ['GET', '/docs.json'],
    ['GET', '/dashboard'],
    ['GET', '/v2'],
    ['POST', '/double'],
  ];

  async function statuses(server: RunningServer, host: string): Promise<(number | undefined)[]> {
    const answers = REQUESTS.map(([method, path]) =>
      ask(server, method, path, { ...JSON_BODY, host }, method === 'POST' ? '{"number": 1}' : ''),
    );
    return (await Promise.all(answers)).map(({ status }) => status);
  }

  // A page of another site whose name resolves to 127.0.0.1 could read the metrics, and all answers.
  test('must be a loopback name where the server listens at a loopback address', async () => {
    const server = await start();
    expect(await statuses(server, 'evil.example')).toEqual(REQUESTS.map(() => 421));
    for (const host of ['localhost', 'app.localhost:80', '127.0.0.1:3000', '[::1]:3000']) {
      expect(await statuses(server, host)).toEqual(REQUESTS.map(() => 200));
    }
    const absolute = await ask(server, 'GET', 'http://evil.example/metrics', { host: 'localhost' });
    expect(absolute.status).toBe(421);
    const { text } = await ask(server, 'GET', '/metrics', { host: 'evil.example:3000' });
    expect(JSON.parse(text)).toMatchObject({
      code: 'WRONG_HOST',
      detail:
        'header host: expected a loopback name such as localhost, or one of server.allowed_hosts, got "evil.example:3000".',
    });
  });

  test('may be one that the settings allow', async () => {
    configure('server: { allowed_hosts: [models.example] }\n');
    const server = await start();
    expect(await statuses(server, 'models.example:8080')).toEqual(REQUESTS.map(() => 200));
    expect(await statuses(server, 'evil.example')).toEqual(REQUESTS.map(() => 421));
  });

  test('is not checked where the server listens at all addresses', async () => {
    const server = await start({ service, host: '0.0.0.0' });
    expect(await statuses(server, 'any.example')).toEqual(REQUESTS.map(() => 200));
  });
});

describe('new settings', () => {
  const batches = (size: number) => `runners:\n  doubler:\n    batching:\n      max_batch_size: ${size}\n`;

  /** While one is worked on others gather: as many of them as may go on together. */
  async function companyOf(server: RunningServer, count: number): Promise<number> {
    const { open, entered } = closedGate();
    const first = double(server, 0);
    await entered;
    const others = Array.from({ length: count }, (_, i) => double(server, i + 1));
    await gathered(server, count);
    open();
    await first;
    const answers = await Promise.all(others.map(async (other) => (await other).json()));
    return Math.max(...answers.map(({ company }) => company as number));
  }

  test('count from when they are read', async () => {
    configure(batches(2));
    const server = await start();
    expect(await companyOf(server, 6)).toBe(2);
    configure(batches(6));
    server.reload();
    expect(logged).toEqual(['Changed: runners.doubler.batching.max_batch_size: 2 → 6']);
    expect(await companyOf(server, 6)).toBe(6);
  });

  test('that are wrong are refused as a whole, and the old ones stay', async () => {
    configure(batches(2));
    const server = await start();
    configure(`${batches(6)}      max_wait_ms: soon\n`);
    expect(() => server.reload()).toThrow(/max_wait_ms/);
    expect(await companyOf(server, 6)).toBe(2);
  });

  test('that are the old ones are told as such', async () => {
    configure(batches(2));
    const server = await start();
    server.reload();
    expect(logged).toEqual(['Settings reloaded: no changes.']);
  });
});

describe('a fault of the service', () => {
  const weigh = (server: RunningServer, body: object) =>
    fetch(`${server.address.url}/weigh`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  test('in what it says of an item is told in the log, and not to the client', async () => {
    const server = await start({ service: faulty });
    const answer = await weigh(server, {});
    expect(answer.status).toBe(500);
    const text = await answer.text();
    expect(JSON.parse(text)).toMatchObject({ code: 'HANDLER_FAILED' });
    expect(text).not.toMatch(/costOf|undefined|length/);
    expect(logged).toEqual([
      expect.stringMatching(
        /POST \/weigh failed \(request .*weighed: costOf\(item\) threw: Cannot read.*caused by TypeError: Cannot read.*faulty-service/s,
      ),
    ]);
    expect((await weigh(server, { text: 'a' })).status).toBe(200);
  });
});

describe('an end', () => {
  test('waits for what was accepted', async () => {
    const server = await start();
    const { open, entered } = closedGate();
    const asked = double(server, 4);
    await entered;
    const stopped = server.stop();
    expect(server.stop()).toBe(stopped);
    open();
    expect(await (await asked).json()).toEqual({ doubled: 8, company: 1 });
    expect(await stopped).toBe(true);
    await expect(double(server, 1)).rejects.toThrow();
  });

  test('that has waited long enough says that something was cut off', async () => {
    configure('server:\n  shutdown_timeout: 1ms\n');
    const server = await start();
    const { open, entered } = closedGate();
    const asked = double(server, 4);
    await entered;
    expect(await server.stop()).toBe(false);
    const answer = await asked;
    expect([answer.status, await answer.json()]).toEqual([
      503,
      expect.objectContaining({ code: 'DRAINING' }),
    ]);
    open();
  });

  test('can be at once', async () => {
    const server = await start();
    const { open, entered } = closedGate();
    const asked = double(server, 4);
    await entered;
    server.kill();
    await expect(asked).rejects.toThrow();
    expect(await server.stop()).toBe(false);
    open();
  });
});
