/**
 * Limits that change while requests are queued. Root cause: the batcher sets the cost of an item at admission.
 * Without readmission, requests admitted with batching off kept cost 1 with all their rows.
 */
import { VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type BatchingSettings,
  createFunctionRunner,
  createModelRunner,
  type InferRequest,
  type Signature,
} from '../src/index.js';
import { DOUBLING, doubled, FakeModel, floats, numbersOf } from './support/fake-model.js';
import { enqueue } from './support/runner-outcome.js';
import { settingsWith } from './support/settings.js';

const limits = (batching: Partial<BatchingSettings>) => settingsWith({ batching });

function rowsFrom(n: number, count: number, width = 2): InferRequest {
  const values = Array.from({ length: count * width }, (_, i) => (i % width === 0 ? n + i / width : 0));
  return { inputs: new Map([['x', floats([count, width], values)]]) };
}

async function model(batching: Partial<BatchingSettings>, signature: Signature = DOUBLING) {
  const clock = new VirtualClock();
  const wholes: number[] = [];
  const fake = new FakeModel({ signature, compute: doubled, clock, durationMs: () => 5 });
  const onWhole = (rows: number) => wholes.push(rows);
  const runner = createModelRunner({
    name: 'doubling',
    model: fake,
    settings: limits(batching),
    clock,
    onWhole,
  });
  await clock.settle();
  await runner.ready;
  const rowsOfCalls = () => fake.shapesOf('x').map(([rows]) => rows as number);
  return { clock, runner, fake, wholes, rowsOfCalls };
}

describe('changed limits of a model', () => {
  test('enabling batching counts the rows of queued requests', async () => {
    const { clock, runner, rowsOfCalls } = await model({ enabled: false });
    const outcomes = [1, 10, 20, 30].map((n) => enqueue(runner, rowsFrom(n, 3)));
    await clock.settle();
    runner.configure(limits({ maxBatchSize: 4 }));
    await clock.advance(100);
    expect(outcomes.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined]);
    expect(rowsOfCalls()).toEqual([3, 3, 3, 3]);
  });

  test('enabling batching splits queued requests that are larger than a batch', async () => {
    const { clock, runner, rowsOfCalls } = await model({ enabled: false });
    enqueue(runner, rowsFrom(1, 1));
    const large = enqueue(runner, rowsFrom(10, 7));
    await clock.settle();
    runner.configure(limits({ maxBatchSize: 3 }));
    await clock.advance(100);
    expect(numbersOf(large.result?.get('sum'))).toEqual([10, 11, 12, 13, 14, 15, 16]);
    expect(Math.max(...rowsOfCalls())).toBe(3);
  });

  test('a request admitted without batching shares no batch with requests of another shape', async () => {
    const open: Signature = {
      inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, -1] }],
      outputs: DOUBLING.outputs.map((output) => ({ ...output, shape: output.shape.map(() => -1) })),
    };
    const { clock, runner, fake } = await model({ enabled: false }, open);
    enqueue(runner, rowsFrom(1, 1));
    await clock.settle();
    const outcomes = [2, 3, 4, 5].map((n) => enqueue(runner, rowsFrom(n, 1, n % 2 === 0 ? 2 : 3)));
    runner.configure(limits({}));
    await clock.advance(100);
    expect(outcomes.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined]);
    expect(fake.shapesOf('x')).toEqual([
      [1, 2],
      [2, 2],
      [2, 3],
    ]);
  });

  test('a readmitted request is counted once, and not as cancelled or refused', async () => {
    const { clock, runner } = await model({ maxBatchSize: 8 });
    for (const n of [1, 10, 20, 30]) enqueue(runner, rowsFrom(n, 5));
    await clock.settle();
    runner.configure(limits({ enabled: false }));
    runner.configure(limits({ maxBatchSize: 8 }));
    expect(runner.stats()).toMatchObject({ submitted: 4, refused: 0, cancelled: 0, queued: 3, running: 1 });
    await clock.advance(100);
    expect(runner.stats()).toMatchObject({ submitted: 4, succeeded: 4, refused: 0, cancelled: 0 });
    expect(runner.stats()?.refusals).toEqual({ INVALID_ITEM: 0 });
  });

  test('a readmitted request is not rejected for its deadline or a full queue', async () => {
    const { clock, runner } = await model({ enabled: false, targetLatencyMs: 12 });
    // The learned batch duration is now 5 ms.
    for (let n = 0; n < 3; n++) {
      enqueue(runner, rowsFrom(n, 2));
      await clock.advance(5);
    }
    const outcomes = [enqueue(runner, rowsFrom(1, 2)), enqueue(runner, rowsFrom(3, 2))];
    await clock.settle();
    await clock.advance(4);
    runner.configure(limits({ maxBatchSize: 2, targetLatencyMs: 2, maxQueueSize: 1 }));
    await clock.advance(100);
    expect(outcomes.map(({ error }) => error?.code)).toEqual([undefined, undefined]);
  });

  test('a readmitted request keeps its deadline and can be cancelled', async () => {
    const { clock, runner } = await model({ enabled: false });
    enqueue(runner, rowsFrom(1, 2));
    const late = enqueue(runner, rowsFrom(3, 2), { timeoutMs: 4 });
    const cancelled = enqueue(runner, rowsFrom(5, 2));
    await clock.advance(3);
    runner.configure(limits({ maxBatchSize: 8 }));
    cancelled.ticket?.cancel();
    expect(cancelled).toMatchObject({ settled: 1, error: { code: 'CANCELLED' } });
    await clock.advance(1);
    expect(late).toMatchObject({ settled: 1, error: { code: 'DEADLINE_EXCEEDED' } });
  });

  test('a readmitted request keeps its arrival time', async () => {
    const { clock, runner } = await model({ enabled: false });
    enqueue(runner, rowsFrom(1, 2));
    const waiting = enqueue(runner, rowsFrom(3, 2));
    await clock.advance(3);
    runner.configure(limits({ maxBatchSize: 8 }));
    expect(runner.stats()).toMatchObject({ queued: 1, oldestWaitMs: 3 });
    await clock.advance(100);
    expect(waiting.trace).toMatchObject({ queueMs: 5 });
  });

  test('invalid limits change nothing', async () => {
    const { clock, runner, rowsOfCalls } = await model({ enabled: false });
    const outcomes = [1, 10, 20].map((n) => enqueue(runner, rowsFrom(n, 3)));
    await clock.settle();
    expect(() => runner.configure(limits({ maxBatchSize: 0 }))).toThrow(/maxBatchSize/);
    await clock.advance(100);
    expect(outcomes.map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
    expect(rowsOfCalls()).toEqual([3, 3, 3]);
  });

  test('onWhole reports the rows of an unbatched request only', async () => {
    const { clock, runner, wholes } = await model({ enabled: false });
    for (const count of [3, 1, 5]) enqueue(runner, rowsFrom(1, count));
    await clock.advance(100);
    expect(wholes).toEqual([3, 5]);
    runner.configure(limits({}));
    enqueue(runner, rowsFrom(1, 4));
    await clock.advance(100);
    expect(wholes).toEqual([3, 5]);
  });

  test('for any changes, no batch exceeds its limit and each request settles once', async () => {
    const change = fc.record({ enabled: fc.boolean(), maxBatchSize: fc.integer({ min: 1, max: 6 }) });
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ rows: fc.integer({ min: 1, max: 9 }) }) },
      { weight: 2, arbitrary: fc.record({ change }) },
      { weight: 1, arbitrary: fc.record({ advanceMs: fc.integer({ min: 0, max: 7 }) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        let inForce: Partial<BatchingSettings> = { enabled: true, maxBatchSize: 4 };
        const clock = new VirtualClock();
        const tooLarge: string[] = [];
        const fake = new FakeModel({
          signature: DOUBLING,
          compute: doubled,
          clock,
          durationMs: () => 5,
        });
        const infer = fake.infer.bind(fake);
        let largestRequest = 0;
        fake.infer = (inputs, call) => {
          const [rows = 0] = inputs.get('x')?.shape ?? [];
          const most = inForce.enabled ? (inForce.maxBatchSize ?? 0) : largestRequest;
          if (rows > most) tooLarge.push(`${rows} rows, ${JSON.stringify(inForce)}`);
          return infer(inputs, call);
        };
        const runner = createModelRunner({ name: 'doubling', model: fake, settings: limits(inForce), clock });
        await clock.settle();
        const outcomes = [];
        for (const each of steps) {
          if ('rows' in each) {
            largestRequest = Math.max(largestRequest, each.rows);
            outcomes.push(enqueue(runner, rowsFrom(outcomes.length, each.rows)));
          } else if ('change' in each) {
            inForce = each.change;
            runner.configure(limits(inForce));
          } else await clock.advance(each.advanceMs);
        }
        await clock.advance(10_000);
        expect(tooLarge).toEqual([]);
        expect(outcomes.map(({ settled, error }) => [settled, error?.message])).toEqual(
          outcomes.map(() => [1, undefined]),
        );
        const { submitted, succeeded, refused, cancelled } = runner.stats() ?? {};
        expect([submitted, refused, cancelled]).toEqual([succeeded, 0, 0]);
      }),
      { numRuns: 150 },
    );
  });
});

describe('changed limits of a function', () => {
  function weighing(batching: Partial<BatchingSettings>) {
    const clock = new VirtualClock();
    const batches: number[][] = [];
    const runner = createFunctionRunner<number, number>({
      name: 'weighing',
      handler: async (items) => {
        batches.push(items);
        await new Promise<void>((resolve) => clock.setTimer(resolve, 5));
        return items;
      },
      settings: limits(batching),
      costOf: (item) => item,
      clock,
    });
    return { clock, runner, batches };
  }

  test('enabling batching counts the cost of queued items', async () => {
    const { clock, runner, batches } = weighing({ enabled: false });
    const outcomes = [3, 2, 2, 1].map((item) => enqueue(runner, item));
    await clock.settle();
    runner.configure(limits({ maxBatchSize: 4 }));
    await clock.advance(100);
    expect(batches).toEqual([[3], [2, 2], [1]]);
    expect(outcomes.map(({ result }) => result)).toEqual([3, 2, 2, 1]);
  });

  test('disabling batching drops no queued item', async () => {
    const { clock, runner, batches } = weighing({ maxBatchSize: 4 });
    const outcomes = [3, 2, 2].map((item) => enqueue(runner, item));
    await clock.settle();
    runner.configure(limits({ enabled: false }));
    expect(runner.stats()).toMatchObject({ submitted: 3, refused: 0, queued: 2 });
    await clock.advance(100);
    expect(batches).toEqual([[3], [2], [2]]);
    expect(outcomes.map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
  });

  test('an item that no longer fits in any batch is rejected', async () => {
    const { clock, runner } = weighing({ maxBatchSize: 4 });
    const outcomes = [3, 3].map((item) => enqueue(runner, item));
    await clock.settle();
    runner.configure(limits({ maxBatchSize: 2 }));
    expect(outcomes[1]).toMatchObject({
      settled: 1,
      error: {
        code: 'INVALID_ITEM',
        message: "weighing: the item's cost (3) exceeds maxBatchSize (2).",
      },
    });
  });
});
