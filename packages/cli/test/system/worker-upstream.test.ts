/** `batchwise worker` in front of another server: the queue's batches are its messages. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { RedisBatcher } from '@batchwise/redis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../../redis/test/support/free-port.js';
import { type RedisServer, startRedis } from '../../../redis/test/support/redis-server.js';
import { largest, samplesOf } from './support/model-samples.js';
import { model, root, Serving } from './support/serving.js';
import { until } from './support/until.js';
import { Working } from './support/working.js';

let redis: RedisServer;
let upstream: Serving;
beforeAll(async () => {
  [redis, upstream] = await Promise.all([startRedis(), Serving.start([model('digits'), '--grpc-port', '0'])]);
});
afterAll(async () => {
  await Serving.endAll();
  await redis.stop();
});

const rowOf = (input: readonly number[]) => [
  Array.from({ length: 8 }, (_, i) => input.slice(8 * i, 8 * i + 8)),
];

test.each([
  ['a model over gRPC', () => `grpc://127.0.0.1:${upstream.grpcPort}/digits`],
  ['a model over REST', () => `http://127.0.0.1:${upstream.port}/v2/models/digits`],
  ['instances and predictions', () => `http://127.0.0.1:${upstream.port}/v1/models/digits:predict`],
])('%s answers rows', async (name, url) => {
  const queue = name.replaceAll(' ', '-');
  const worker = await Working.worker([url(), '--queue', queue, '--url', redis.url]);
  const batcher = new RedisBatcher<unknown, number[]>({ url: redis.url, queue });
  onTestFinished(() => batcher.destroy());
  const samples = samplesOf('digits').slice(0, 10);
  const answers = await Promise.all(samples.map(({ input }) => batcher.submit(rowOf(input))));
  expect(answers.map(largest)).toEqual(samples.map(({ probabilities }) => largest(probabilities)));
  worker.signal('SIGTERM');
  expect(await worker.exit).toEqual({ code: 0, signal: null });
});

test('errors have the message of the upstream, without its address; the log has no secrets', async () => {
  const url = `http://127.0.0.1:${upstream.port}/v1/models/digits:predict`;
  const worker = await Working.worker([`${url}?key=secret`, '--queue', 'told', '--url', redis.url]);
  const batcher = new RedisBatcher<unknown, number[]>({ url: redis.url, queue: 'told' });
  onTestFinished(() => batcher.destroy());
  const error = await batcher.submit('no row').catch((reason: Error) => reason);
  expect(String(error)).toContain('told: the upstream: HTTP 400');
  expect(String(error)).not.toContain('127.0.0.1');
  await worker.said(`Processes the queue told with ${url}.`);
  expect(worker.stderr + worker.stdout).not.toContain('secret');
});

/** Callers who ask again and again, until they are told to stop, or the test has ended. */
class Callers {
  readonly failures: Error[] = [];
  answered = 0;
  #isStopped = false;
  readonly #callers: Promise<void>[];

  constructor(batcher: RedisBatcher<unknown, number[]>, count: number) {
    onTestFinished(() => {
      this.#isStopped = true;
    });
    const row = rowOf(samplesOf('digits')[0]?.input ?? []);
    this.#callers = Array.from({ length: count }, async () => {
      while (!this.#isStopped) {
        try {
          await batcher.submit(row);
          this.answered += 1;
        } catch (error) {
          this.failures.push(error as Error);
        }
      }
    });
  }

  get messages(): string[] {
    return this.failures.map(String);
  }

  async getAnswers(count: number): Promise<void> {
    const enough = this.answered + count;
    await until(() => this.answered >= enough, `${count} more answers`);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#callers);
  }
}

async function holdsNothing(queue: string, { pid }: Working): Promise<boolean> {
  const stream = `batchwise:{${queue}}:requests:normal`;
  const lines = (await redis.cli('XINFO', 'CONSUMERS', stream, 'processors')).split('\n');
  const at = lines.findIndex((line) => line.includes(`${pid}-`));
  return lines[at + 1] === 'pending' && lines[at + 2] === '0';
}

// Its batches failed in no time, and it took the next ones: the fewer could be done, the more it took.
test.each([
  [
    'grpc',
    (port: number) => ['--port', '0', '--grpc-port', String(port)],
    (port: number) => `grpc://127.0.0.1:${port}/digits`,
  ],
  [
    'rest',
    (port: number) => ['--port', String(port)],
    (port: number) => `http://127.0.0.1:${port}/v2/models/digits`,
  ],
])('a worker fetches no items during an outage of its upstream: %s', async (queue, portFlags, url) => {
  const port = await freePort();
  const startUpstream = async () => {
    const serving = new Serving([model('digits'), ...portFlags(port)]);
    await until(() => serving.stdout.includes('Ctrl-C'), 'the upstream is ready');
    return serving;
  };
  const mortal = await startUpstream();
  const flags = ['--queue', queue, '--url', redis.url, '--max-batch-size', '4'];
  const [worker, other] = await Promise.all([
    Working.worker([url(port), ...flags]),
    Working.worker([`grpc://127.0.0.1:${upstream.grpcPort}/digits`, ...flags]),
  ]);
  const batcher = new RedisBatcher<unknown, number[]>({ url: redis.url, queue });
  onTestFinished(() => batcher.destroy());
  const callers = new Callers(batcher, 16);
  await until(() => worker.batches.length > 10 && other.batches.length > 10, 'both work');

  mortal.signal('SIGKILL');
  await worker.said('The backend is unavailable. Fetching no items from the queue until it answers.');
  await until(() => holdsNothing(queue, worker), 'what was under way has ended');
  await callers.getAnswers(100); // and its callers have heard of it by then
  const failures = callers.failures.length;
  const batches = worker.batches.length;
  // Each call that it took to notice, of four items at most.
  expect(failures).toBeLessThanOrEqual(4 * 6);
  await callers.getAnswers(300);
  expect(worker.batches.length).toBe(batches);
  expect(callers.messages.slice(failures)).toEqual([]);

  await startUpstream();
  await worker.said('Fetching items from the queue again.');
  const seen = [worker.batches.length, other.batches.length] as const;
  await until(
    () => worker.batches.length > seen[0] + 10 && other.batches.length > seen[1] + 10,
    'both work again',
  );
  await callers.stop();
  expect(callers.messages.slice(failures)).toEqual([]);
  expect(worker.stderr.match(/Fetching no items/g)?.length).toBe(1);
});

test('a worker stops during an outage of its upstream', async () => {
  const port = await freePort();
  const mortal = await Serving.start([model('digits'), '--grpc-port', String(port)]);
  const worker = await Working.worker([
    ...[`grpc://127.0.0.1:${port}/digits`, '--queue', 'ends', '--url', redis.url],
  ]);
  mortal.signal('SIGKILL');
  await worker.said('The backend is unavailable. Fetching no items from the queue until it answers.');
  worker.signal('SIGTERM');
  expect(await worker.exit).toEqual({ code: 0, signal: null });
});

test('a gRPC stream answers bytes', async () => {
  const mirror = join(root, 'packages/runners/test/system/upstreams/stream-upstream.mjs');
  const upstreamProcess = spawn(process.execPath, [mirror], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    upstreamProcess.kill();
  });
  const [said] = await once(upstreamProcess.stdout, 'data');
  const port = /listening (\d+)/.exec(String(said))?.[1];
  const url = `grpc-stream://127.0.0.1:${port}/test.Mirror/BatchedReverse`;
  await Working.worker([url, '--queue', 'mirror', '--payload', 'bytes', '--url', redis.url]);
  const batcher = new RedisBatcher<Uint8Array, Uint8Array>({
    url: redis.url,
    queue: 'mirror',
    payload: 'bytes',
  });
  onTestFinished(() => batcher.destroy());
  const answers = await Promise.all(['abc', 'xy'].map((text) => batcher.submit(Buffer.from(text))));
  expect(answers.map((answer) => Buffer.from(answer).toString())).toEqual(['cba', 'yx']);
});
