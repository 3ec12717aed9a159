/** Workers that hang and workers whose restart hangs, on virtual time. */
import { fileURLToPath } from 'node:url';
import { type BatchwiseError, VirtualClock } from 'batchwise';
import { expect, onTestFinished, test } from 'vitest';
import { createModelRunner } from '../src/index.js';
import { SupervisedModel } from '../src/supervised-model.js';
import { floats, numbersOf } from './support/fake-model.js';
import { CRASH, FakeWorker, HANG } from './support/fake-worker.js';
import { enqueue } from './support/runner-outcome.js';
import { settingsWith } from './support/settings.js';

const TIMEOUT_MS = 2000;

interface Options {
  readonly workers?: number;
  readonly batchMs?: number;
  /** Of the first worker. */
  readonly startMs?: number;
}

async function running({ workers = 1, batchMs = 10, startMs = 0 }: Options = {}) {
  const clock = new VirtualClock();
  const deaths: BatchwiseError[] = [];
  /** Start durations of the next workers; the others start in no time. */
  const startsMs = [startMs];
  const model = new SupervisedModel({
    platform: 'fake',
    file: fileURLToPath(import.meta.url),
    unit: 'process',
    workers,
    slotsPerWorker: 1,
    readsAhead: true,
    onWorkerDeath: (error) => deaths.push(error),
    clock,
    timeoutMs: TIMEOUT_MS,
    start: (_, events) => new FakeWorker({ clock, startMs: startsMs.shift() ?? 0, batchMs }, events),
  });
  const settings = settingsWith({
    timeoutMs: TIMEOUT_MS,
    batching: { maxBatchSize: 1, targetLatencyMs: Number.POSITIVE_INFINITY },
  });
  const runner = createModelRunner({ name: 'model', model, settings, clock });
  onTestFinished(async () => {
    await Promise.all([runner.close({ timeoutMs: 0 }), clock.advance(1)]);
  });
  let isReady = false;
  void runner.ready.then(() => {
    isReady = true;
  });
  while (!isReady) await clock.advance(startMs);
  const ask = (value: number) => enqueue(runner, { inputs: new Map([['x', floats([1], [value])]]) });
  return { clock, runner, deaths, startsMs, ask };
}

/** The value of each answer, or the code of its error. */
function outcomesOf(outcomes: readonly ReturnType<typeof enqueue>[]): (number | string | undefined)[] {
  return outcomes.map(({ result, error }) =>
    result === undefined ? error?.code : numbersOf((result as Map<string, never>).get('y'))[0],
  );
}

// The deadline of the caller fired the signal of the batch before the timeout of the handler did, so the worker got
// twice the timeout, while the batcher regarded its slot as free and sent batch after batch to it.
test('a worker that hangs is killed after the timeout, and the queue survives', async () => {
  const { clock, ask, deaths } = await running();
  const hung = ask(HANG);
  await clock.advance(200); // their deadlines are after the restart
  const queued: ReturnType<typeof ask>[] = [];
  for (let value = 0; value < 36; value++) {
    queued.push(ask(value));
    await clock.advance(50);
  }
  expect(deaths).toMatchObject([{ message: expect.stringContaining('no reply within 2000 ms') }]);
  expect(hung.error).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  await clock.advance(TIMEOUT_MS);
  expect(outcomesOf(queued)).toEqual(queued.map((_, value) => value));
});

test('a batch that was read ahead is timed from its own start', async () => {
  const { clock, ask, deaths, runner } = await running({ batchMs: 1500 });
  ask(1);
  ask(2);
  await clock.advance(3000);
  expect(runner.stats()).toMatchObject({ succeeded: 1, expired: 1, batchesRunning: 0 });
  expect(deaths).toEqual([]);
});

// Only a worker that ended counted as failed, so a restart that hung stayed for ever, and its runner stayed ready.
test('a restart that hangs is killed, and the runner is not ready meanwhile', async () => {
  const { clock, ask, deaths, startsMs, runner } = await running();
  startsMs.push(Number.POSITIVE_INFINITY);
  const crash = ask(CRASH);
  await clock.advance(TIMEOUT_MS);
  expect(crash.error).toMatchObject({ code: 'UNAVAILABLE' });
  expect(runner.state).toBe('ready');
  await clock.advance(10); // the crash was 10 ms after the request
  expect(runner.state).toBe('failed');
  expect(ask(1).error).toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('takes too long'),
  });
  expect(deaths).toHaveLength(1);

  await clock.advance(30_000);
  expect(deaths[1]?.message).toContain('not ready within 30000 ms; terminated');
  expect(runner.state).toBe('ready');
  const after = ask(2);
  await clock.advance(10);
  expect(outcomesOf([after])).toEqual([2]);
});

test('a restart may take ten times as long as the first start', async () => {
  const { clock, ask, deaths, startsMs, runner } = await running({ startMs: 5000 });
  startsMs.push(49_000, Number.POSITIVE_INFINITY);
  ask(CRASH);
  await clock.advance(10 + 100 + 49_000);
  expect(runner.state).toBe('ready');
  ask(CRASH);
  await clock.advance(10 + 200 + 49_000);
  expect(deaths).toHaveLength(2);
  await clock.advance(1000);
  expect(deaths[2]?.message).toContain('not ready within 50000 ms');
});

test('a restart that hangs leaves the runner ready while another worker is live', async () => {
  const { clock, ask, startsMs, runner } = await running({ workers: 2 });
  startsMs.push(Number.POSITIVE_INFINITY);
  ask(CRASH);
  await clock.advance(3 * TIMEOUT_MS);
  expect(runner.state).toBe('ready');
  const answers = [1, 2, 3].map(ask);
  await clock.advance(30);
  expect(outcomesOf(answers)).toEqual([1, 2, 3]);
});
