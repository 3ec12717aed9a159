/** What a runner in Redis makes of its connection; the rest is seen with a real Redis, in system/redis-*.test.ts. */
import { DEFAULT_RUNNER_SETTINGS, type RunnerSink } from '@batchwise/runners';
import { BatchwiseError, type EnqueueOptions } from 'batchwise';
import { expect, test } from 'vitest';
import { functionForm } from '../../src/redis/function-form.js';
import { type RedisClient, RedisRunner } from '../../src/redis/redis-runner.js';

/** Stands for a RedisBatcher: does what the test says. */
class FakeBatcher {
  readonly options: Readonly<Record<string, unknown>>;
  readonly ready: Promise<void>;
  readonly settings = { queue: 'q' };
  problem: Error | undefined = undefined;
  readonly enqueued: { readonly item: unknown; readonly options: EnqueueOptions | undefined }[] = [];
  isUp = false;
  isDestroyed = false;
  isClosed = false;
  becomeFit: () => void = () => {};
  becomeUnfit: (error: Error) => void = () => {};
  #listener: (isUp: boolean, reason: Error | undefined) => void = () => {};

  constructor(options: Readonly<Record<string, unknown>>) {
    this.options = options;
    this.ready = new Promise((resolve, reject) => {
      this.becomeFit = resolve;
      this.becomeUnfit = reject;
    });
  }

  onConnectionChange(listener: (isUp: boolean, reason: Error | undefined) => void): void {
    this.#listener = listener;
  }

  /** As it is told: only what is a change. */
  connection(isUp: boolean): void {
    this.isUp = isUp;
    this.problem = isUp ? undefined : new Error('Cannot connect to Redis at r:1: ECONNREFUSED');
    this.#listener(isUp, isUp ? undefined : new Error('cut'));
  }

  enqueue(item: unknown, sink: RunnerSink<unknown>, options?: EnqueueOptions): { cancel(): void } {
    this.enqueued.push({ item, options });
    sink.resolve(item, { batchSize: 1, queueMs: 0, computeMs: 0 });
    return { cancel() {} };
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.becomeUnfit(new Error('the link is closed'));
  }

  destroy(): void {
    this.isDestroyed = true;
  }
}

/** Stands for a RedisQueue that has these processors. */
class FakeQueue {
  static processors: readonly object[] = [{ isPaused: false, seenMsAgo: 10, leaseMs: 1000 }];

  async status(): Promise<{ readonly processors: readonly object[] }> {
    return { processors: FakeQueue.processors };
  }

  async close(): Promise<void> {}
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

async function made() {
  const logs: string[] = [];
  const states: string[] = [];
  let batcher: FakeBatcher | undefined;
  const client = {
    RedisBatcher: class extends FakeBatcher {
      constructor(options: Readonly<Record<string, unknown>>) {
        super(options);
        batcher = this;
      }
    },
    RedisQueue: FakeQueue,
    connectionFrom: (options: object, env: object) => ({ ...options, ...env }),
  };
  const runner = new RedisRunner({
    name: 'double',
    settings: { ...DEFAULT_RUNNER_SETTINGS, redis: { ...DEFAULT_RUNNER_SETTINGS.redis, queue: 'q' } },
    form: functionForm(),
    env: {},
    log: (line) => logs.push(line),
    loadClient: async () => client as unknown as RedisClient,
  });
  runner.onStateChange(() => states.push(runner.state));
  const early = outcomeOf(runner);
  await turn();
  return { runner, batcher: batcher as FakeBatcher, logs, states, early };
}

function outcomeOf(
  runner: RedisRunner<unknown, unknown>,
  options?: EnqueueOptions,
): { result?: unknown; code?: string } {
  const outcome: { result?: unknown; code?: string } = {};
  const sink = {
    resolve: (result: unknown) => {
      outcome.result = result;
    },
    reject: (error: Error) => {
      outcome.code = (error as BatchwiseError).code;
    },
  };
  runner.enqueue(1, sink, options);
  return outcome;
}

test('it is ready when Redis is fit and all connections are up, not before', async () => {
  const { runner, batcher, states, early } = await made();
  expect(early.code).toBe('UNAVAILABLE');
  let isReady = false;
  runner.ready.then(() => {
    isReady = true;
  });
  batcher.becomeFit();
  await turn();
  expect([isReady, runner.state]).toEqual([false, 'loading']);
  batcher.connection(true);
  await runner.ready;
  expect(states).toEqual(['ready']);
  expect(outcomeOf(runner).result).toBe(1);
});

test('a lost connection is a change of state, told in the log, until it is there again', async () => {
  const { runner, batcher, states, logs } = await made();
  batcher.connection(true);
  batcher.becomeFit();
  await runner.ready;
  expect(logs).toEqual([]);
  batcher.connection(false);
  batcher.connection(true);
  expect(states).toEqual(['ready', 'loading', 'ready']);
  expect(logs).toEqual([
    'double: the connection to Redis is lost; retrying. cut',
    'double: connected to Redis.',
  ]);
});

test('a Redis that is not fit fails it, with the reason for all who ask', async () => {
  const { runner, batcher } = await made();
  batcher.becomeUnfit(new BatchwiseError('INVALID_OPTION', 'Redis: expected noeviction.'));
  await expect(runner.ready).rejects.toThrow('expected noeviction');
  expect([runner.state, batcher.isDestroyed]).toEqual(['failed', true]);
  batcher.connection(true);
  expect(runner.state).toBe('failed');
  expect(outcomeOf(runner).code).toBe('UNAVAILABLE');
});

test.each(['before it was fit', 'before it was up'])(
  'closed %s, nobody waits for it in vain',
  async (when) => {
    const { runner, batcher } = await made();
    if (when === 'before it was up') {
      batcher.becomeFit();
      await turn();
    }
    await runner.close();
    await expect(runner.ready).rejects.toMatchObject({ code: 'CLOSED' });
    expect([runner.state, batcher.isClosed]).toEqual(['closed', true]);
    expect(outcomeOf(runner).code).toBe('CLOSED');
    batcher.connection(true);
    expect(runner.state).toBe('closed');
  },
);

test('nobody has more time than the runner gives, and settings that change count for the next', async () => {
  const { runner, batcher } = await made();
  const timeoutOf = (options?: EnqueueOptions) => {
    outcomeOf(runner, options);
    return batcher.enqueued.at(-1)?.options?.timeoutMs;
  };
  expect([timeoutOf(), timeoutOf({ timeoutMs: 5 }), timeoutOf({ timeoutMs: 60_000, priority: 1 })]).toEqual([
    30_000, 5, 30_000,
  ]);
  runner.configure({ ...DEFAULT_RUNNER_SETTINGS, timeoutMs: 100 });
  expect(timeoutOf()).toBe(100);
  expect(batcher.enqueued.at(-2)?.options).toMatchObject({ priority: 1 });
});
