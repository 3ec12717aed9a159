/** The endpoint of examples/frameworks in each framework: real servers on loopback, and a model that waits for the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { greedy } from 'batchwise';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest';
import { POST } from '../../examples/frameworks/src/app/predict/route.js';
import { batcher, model } from '../../examples/frameworks/src/model.js';
import { type RunningServer, SERVERS } from '../../examples/frameworks/src/servers.js';
import { eventually } from '../../packages/redis/test/support/eventually.js';

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}

type Send = (body: string, signal?: AbortSignal) => Promise<Answer>;

interface Endpoint {
  readonly name: string;
  start(): Promise<{ send: Send; close(): Promise<void> }>;
}

const headers = { 'content-type': 'application/json' };

/** On a connection of its own, so that none is left open when the server closes. */
async function post(url: string, body: string, signal: AbortSignal): Promise<Answer> {
  const call = request(url, { method: 'POST', headers, signal, agent: false });
  call.end(body);
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  const { statusCode: status = 0 } = response;
  return { status, retryAfter: response.headers['retry-after'] ?? null, text: await textOf(response) };
}

const endpoints: Endpoint[] = [
  ...Object.entries(SERVERS).map(([name, startServer]) => ({
    name,
    async start() {
      const server: RunningServer = await startServer(0);
      const send: Send = (body, signal = new AbortController().signal) =>
        post(`${server.url}/predict`, body, signal);
      return { send, close: () => server.close() };
    },
  })),
  {
    name: 'Next.js route handler',
    async start() {
      const send: Send = async (body, signal = new AbortController().signal) => {
        const url = 'http://localhost/predict';
        const response = await POST(new Request(url, { method: 'POST', headers, body, signal }));
        const { status } = response;
        return { status, retryAfter: response.headers.get('retry-after'), text: await response.text() };
      };
      return { send, close: async () => {} };
    },
  },
];

const FLOWER = '{"measures": [5.1, 3.5, 1.4, 0.2]}';

interface HeldBatch {
  readonly flowers: number[][];
  readonly signal: AbortSignal;
  answer(): void;
  fail(error: Error): void;
}

/** The batches that the model has begun, in order. Each waits until the test answers it, or until it is aborted. */
let begun: HeldBatch[];
let seen: number;

async function nextBatch(): Promise<HeldBatch> {
  const batch = await eventually('the model to begin a batch', () => begun[seen]);
  seen += 1;
  return batch;
}

const queued = (items: number) =>
  eventually(`${items} items to be queued`, () => batcher.stats().queued === items);

beforeEach(() => {
  begun = [];
  seen = 0;
  vi.spyOn(model, 'predict').mockImplementation(
    (flowers, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        begun.push({ flowers, signal, answer: () => resolve(flowers.map(() => 'setosa')), fail: reject });
      }),
  );
  // What earlier tests have taught the batcher about durations decides nothing here.
  batcher.configure({
    policy: greedy(),
    admission: false,
    targetLatencyMs: Number.POSITIVE_INFINITY,
    timeoutMs: Number.POSITIVE_INFINITY,
    maxBatchSize: 8,
    maxQueueSize: 100,
  });
});

afterEach(async () => {
  await eventually('the batcher to be idle', () => {
    for (const batch of begun) batch.answer(); // also those of a test that has failed
    const { queued: waiting, running } = batcher.stats();
    return waiting + running === 0;
  });
  vi.restoreAllMocks();
});

describe.each(endpoints)('$name', ({ start }) => {
  let send: Send;
  let close: () => Promise<void>;

  beforeAll(async () => {
    ({ send, close } = await start());
  });
  afterAll(() => close?.());

  test('answers, and requests that come during a batch share the next one', async () => {
    const first = send(FLOWER);
    const running = await nextBatch();
    const others = [send(FLOWER), send(FLOWER), send(FLOWER)];
    await queued(3);
    running.answer();
    const second = await nextBatch();
    expect(second.flowers).toHaveLength(3);
    second.answer();
    for (const { status, text } of await Promise.all([first, ...others])) {
      expect([status, text]).toEqual([200, '{"species":"setosa"}']);
    }
  });

  test('a body that is not JSON: 400, and the model is not called', async () => {
    expect((await send('{"measures": [5.1,')).status).toBe(400);
    expect(model.predict).not.toHaveBeenCalled();
  });

  test.each(['{}', '[]', 'null', '{"measures": [1, 2, 3]}', '{"measures": [1, 2, 3, "4"]}'])(
    'the body %s: 400, and the model is not called',
    async (body) => {
      const response = await send(body);
      expect(response.status).toBe(400);
      expect(model.predict).not.toHaveBeenCalled();
      if (body.startsWith('{')) expect(response.text).toContain('four numbers');
    },
  );

  test('a full queue: 429 with Retry-After, and the others are answered', async () => {
    batcher.configure({ maxQueueSize: 1 });
    const running = send(FLOWER);
    const batch = await nextBatch();
    // Only one of these two has a place.
    const both = [send(FLOWER), send(FLOWER)];
    const rejected = await Promise.race(both);
    expect(rejected.status).toBe(429);
    expect(rejected.retryAfter).toBe('1');
    batch.answer();
    (await nextBatch()).answer();
    expect((await running).status).toBe(200);
    expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual([200, 429]);
  });

  test('a passed deadline: 504, while the model is still at work', async () => {
    batcher.configure({ timeoutMs: 20 });
    const response = await send(FLOWER);
    expect(response.status).toBe(504);
    expect(response.retryAfter).toBeNull();
  });

  test('a client that disconnects while its batch runs aborts the batch', async () => {
    const client = new AbortController();
    const outcome = send(FLOWER, client.signal).then(
      ({ status }) => status,
      ({ name }: Error) => name,
    );
    const { signal } = await nextBatch();
    expect(signal.aborted).toBe(false);
    const aborted = once(signal, 'abort');
    client.abort();
    await aborted;
    // The client gets its own error; the handler of Next.js answers 499, which nobody reads.
    expect(['AbortError', 499]).toContain(await outcome);
  });

  test('a client that disconnects while it is queued leaves the queue, and its neighbour is answered', async () => {
    const client = new AbortController();
    const running = send(FLOWER);
    const batch = await nextBatch();
    const leaving = send(FLOWER, client.signal).catch(() => undefined);
    const staying = send(FLOWER);
    await queued(2);
    client.abort();
    await queued(1);
    batch.answer();
    const next = await nextBatch();
    expect(next.flowers).toHaveLength(1);
    next.answer();
    expect((await running).status).toBe(200);
    expect((await staying).status).toBe(200);
    await leaving;
  });

  test('a model that throws: 500', async () => {
    const answering = send(FLOWER);
    (await nextBatch()).fail(new Error('secret detail'));
    expect((await answering).status).toBe(500);
  });
});

/** Fastify shows the message of every error, and Express the stack unless NODE_ENV is production. */
test.each(endpoints.filter(({ name }) => name !== 'express' && name !== 'fastify'))(
  '$name does not show what the model threw',
  async ({ start }) => {
    const { send, close } = await start();
    onTestFinished(close);
    const answering = send(FLOWER);
    (await nextBatch()).fail(new Error('secret detail'));
    expect((await answering).text).not.toContain('secret');
  },
);

describe('the command', () => {
  const main = fileURLToPath(new URL('../../examples/frameworks/dist/main.js', import.meta.url));

  function startMain(...flags: string[]): ChildProcess {
    const child = spawn(process.execPath, [main, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    return child;
  }

  test('prints a row for each framework, and ends', async () => {
    const child = startMain('--seconds', '0.1', '--callers', '4', '--burst', '20');
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    expect(await once(child, 'close')).toEqual([0, null]);
    for (const name of ['Express', 'Fastify', 'Hono', 'NestJS', 'Next.js (called)']) {
      expect(output).toContain(`\n${name} `);
    }
  });

  test.each(Object.keys(SERVERS))('--serve %s answers until SIGTERM', async (name) => {
    const child = startMain('--serve', name, '--port', '0');
    const [line] = (await once(child.stdout ?? child, 'data')) as [Buffer];
    const url = /http:\S+/.exec(String(line))?.[0] ?? '';
    const { status, text } = await post(url, FLOWER, new AbortController().signal);
    expect([status, text]).toEqual([200, '{"species":"setosa"}']);
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([0, null]);
  });
});

/** The page shows files of the example between ~~~; programs between ``` are run by docs.test.ts. */
describe('docs/guides/frameworks.md', () => {
  const source = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const page = source('docs/guides/frameworks.md');

  test.each(['client-signal', 'express', 'fastify', 'hono', 'nest', 'app/predict/route'])(
    'shows %s.ts as it is in the example',
    (name) => {
      expect(page).toContain(`~~~ts\n${source(`examples/frameworks/src/${name}.ts`)}~~~\n`);
    },
  );

  test('shows model.ts as it is in the example', () => {
    expect(page).toContain(`\`\`\`ts\n${source('examples/frameworks/src/model.ts')}\`\`\`\n`);
  });
});
