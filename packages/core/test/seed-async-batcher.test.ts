/** The API of the seed's `AsyncBatcher`: a class with a batch method that is created, started and used. */
import {
  AsyncBatcher,
  type AsyncBatcherOptions,
  type BatchContext,
  Batcher,
  BatchwiseError,
  batched,
  VirtualClock,
} from 'batchwise';
import { expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { Gate } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';

class Recorder extends AsyncBatcher<number, number> {
  readonly batches: number[][] = [];
  readonly contexts: BatchContext[] = [];
  readonly factor = 10;

  async processBatch(batch: number[], context: BatchContext): Promise<number[]> {
    this.batches.push(batch);
    this.contexts.push(context);
    return batch.map((item) => this.factor * item);
  }
}

const numbers = (length: number) => Array.from({ length }, (_, i) => i);

test('the example of the seed: a subclass, batchSize, start, and a printed batch', async () => {
  const clock = new VirtualClock();
  const printed: number[][] = [];
  class MyAsyncBatcher extends AsyncBatcher<number, void> {
    async processBatch(batch: number[]) {
      printed.push(batch);
    }
  }
  const asyncBatcher = new MyAsyncBatcher({ batchSize: 20, clock });
  asyncBatcher.start();
  const outcomes = numbers(45).map((item) => outcomeOf(asyncBatcher.process(item)));
  await clock.advance(0);
  expect(printed.map(({ length }) => length)).toEqual([20, 20, 5]);
  expect(printed.flat()).toEqual(numbers(45));
  expect(outcomes.every(({ state, value }) => state === 'resolved' && value === undefined)).toBe(true);
  await asyncBatcher.stop();
});

test('each caller gets its own result, and the method has its fields and the context', async () => {
  const clock = new VirtualClock();
  const recorder = new Recorder({ batchSize: 2, clock, name: 'recorder' });
  const outcomes = [1, 2].map((item) => outcomeOf(recorder.process(item, { timeoutMs: 100 })));
  await clock.advance(0);
  expect(outcomes.map(({ value }) => value)).toEqual([10, 20]);
  expect(recorder.contexts[0]).toMatchObject({ name: 'recorder', size: 2, reason: 'full' });
  expect(recorder.contexts[0]?.signal).toBeInstanceOf(AbortSignal);
});

test('start is optional, may be repeated, and returns the batcher', async () => {
  const clock = new VirtualClock();
  const recorder = new Recorder({ clock });
  const before = outcomeOf(recorder.process(1));
  expect(recorder.start().start()).toBe(recorder);
  await clock.advance(0);
  expect(before.value).toBe(10);
});

test('batchSize -1 is unlimited, and maxBatchSize is the same option', async () => {
  for (const [options, sizes] of [
    [{ batchSize: -1 }, [500]],
    [{ maxBatchSize: -1 }, [500]],
    [{ batchSize: Infinity }, [500]],
    [{ maxBatchSize: 300 }, [300, 200]],
    [{}, [64, 64, 64, 64, 64, 64, 64, 52]],
  ] as [AsyncBatcherOptions<number>, number[]][]) {
    const clock = new VirtualClock();
    const recorder = new Recorder({ ...options, clock });
    for (const item of numbers(500)) void recorder.process(item);
    await clock.advance(0);
    expect(recorder.batches.map(({ length }) => length)).toEqual(sizes);
  }
});

test('the same option under both names is rejected', () => {
  expect(() => new Recorder({ batchSize: 2, maxBatchSize: 2 })).toThrow('two names for one option');
});

test.each([0, 'ten', null, NaN])('an invalid batchSize, %j, is reported under that name', (batchSize) => {
  const make = () => new Recorder({ batchSize } as never);
  expect(make).toThrow(BatchwiseError);
  expect(make).toThrow(/^batchSize: expected a whole number from 1 up/);
});

test('unknown options are rejected with a suggestion', () => {
  expect(() => new Recorder({ batch_size: 5 } as never)).toThrow(
    /unknown option "batch_size"\. Did you mean \w*[bB]atchSize/,
  );
});

test('a processBatch that is synchronous', async () => {
  const clock = new VirtualClock();
  class Doubler extends AsyncBatcher<number, number> {
    processBatch(batch: number[]) {
      return batch.map((item) => 2 * item);
    }
  }
  const outcome = outcomeOf(new Doubler({ clock }).process(4));
  await clock.advance(0);
  expect(outcome.value).toBe(8);
});

test('a processBatch that returns nothing resolves all calls to undefined', async () => {
  const nothings: (() => unknown)[] = [
    () => undefined,
    async () => undefined,
    // A thenable of another library, as the type allows.
    // biome-ignore lint/suspicious/noThenProperty: the test needs a thenable
    () => ({ then: (resolve: (value: undefined) => void) => resolve(undefined) }),
  ];
  for (const nothing of nothings) {
    const clock = new VirtualClock();
    class Silent extends AsyncBatcher<number, void> {
      processBatch() {
        return nothing() as PromiseLike<void>;
      }
    }
    const silent = new Silent({ clock });
    const outcomes = [1, 2].map((item) => outcomeOf(silent.process(item)));
    await clock.advance(0);
    expect(outcomes.map(({ state, value }) => [state, value])).toEqual(
      Array(2).fill(['resolved', undefined]),
    );
  }
});

test('a result that is an Error fails only its item; a throw fails the batch', async () => {
  const clock = new VirtualClock();
  class Picky extends AsyncBatcher<number, string> {
    async processBatch(batch: number[]) {
      if (batch.includes(13)) throw new Error('unlucky');
      return batch.map((item) => (item < 0 ? new RangeError(`negative: ${item}`) : `fine: ${item}`));
    }
  }
  const picky = new Picky({ clock, batchSize: 2 });
  const outcomes = [1, -1, 13, 2].map((item) => outcomeOf(picky.process(item)));
  await clock.advance(0);
  expect(outcomes[0]?.value).toBe('fine: 1');
  expect(outcomes[1]?.error).toBeInstanceOf(RangeError);
  expect(outcomes.slice(2).map(({ code }) => code)).toEqual(['HANDLER_FAILED', 'HANDLER_FAILED']);
  expectRest(picky);
});

test('a subclass without the method fails its batches, and the message names the method', async () => {
  const clock = new VirtualClock();
  class Forgetful extends (AsyncBatcher as unknown as typeof Recorder) {}
  Object.defineProperty(Forgetful.prototype, 'processBatch', { value: undefined });
  const outcome = outcomeOf(new Forgetful({ clock }).process(1));
  await clock.advance(0);
  expect(outcome.code).toBe('HANDLER_FAILED');
  expect((outcome.error as Error).message).toContain(
    'processBatch of the subclass: expected a function, got undefined',
  );
});

test('stop finishes accepted items; with force it settles all items now', async () => {
  for (const force of [false, true]) {
    const clock = new VirtualClock();
    const gate = new Gate<number, number>();
    class Gated extends AsyncBatcher<number, number> {
      override processBatch(batch: number[], context: BatchContext) {
        return gate.handler(batch, context);
      }
    }
    const batcher = new Gated({ clock });
    const accepted = outcomeOf(batcher.process(1));
    await clock.advance(0);
    const stopped = outcomeOf(batcher.stop({ force }));
    const late = outcomeOf(batcher.process(2));
    await clock.advance(0);
    expect([stopped.state, late.code]).toEqual([force ? 'resolved' : 'pending', 'CLOSED']);
    gate.call(0).answer([10]);
    await clock.advance(0);
    expect([accepted.value ?? accepted.code, stopped.state]).toEqual([force ? 'CLOSED' : 10, 'resolved']);
    await batcher.stop();
  }
});

test('stop({ timeoutMs }) waits no longer than that', async () => {
  const clock = new VirtualClock();
  class Hanging extends AsyncBatcher<number, number> {
    override processBatch() {
      return new Promise<number[]>(() => {});
    }
  }
  const hanging = new Hanging({ clock });
  const outcome = outcomeOf(hanging.process(1));
  await clock.advance(0);
  const stopped = outcomeOf(hanging.stop({ timeoutMs: 20 }));
  await clock.advance(20);
  expect([outcome.code, stopped.state]).toEqual(['CLOSED', 'resolved']);
});

test.each([
  [{ force: 'yes' }, 'stop({ force }): expected true or false, got the string "yes".'],
  [{ timeoutMs: -1 }, 'expected milliseconds'],
  [{ forced: true }, 'Did you mean force?'],
  [null, 'stop(options): expected an object, got null.'],
])('stop(%j) is rejected, and the batcher stays open', async (options, message) => {
  const clock = new VirtualClock();
  const recorder = new Recorder({ clock });
  const stopped = outcomeOf(recorder.stop(options as never));
  await clock.advance(0);
  expect(stopped.code).toBe('INVALID_OPTION');
  expect((stopped.error as Error).message).toContain(message);
  expect(recorder.stats().state).toBe('open');
});

test('a Batcher takes an object with processBatch as its handler, and calls it as a method', async () => {
  const clock = new VirtualClock();
  class Model {
    readonly offset = 100;
    async processBatch(batch: number[]) {
      return batch.map((item) => this.offset + item);
    }
  }
  const model = new Model();
  const batcher = new Batcher(model, { clock });
  const first = outcomeOf(batcher.submit(1));
  await clock.advance(0);
  model.processBatch = async (batch) => batch.map(() => -1); // replaced later, as by a spy
  const second = outcomeOf(batcher.submit(2));
  await clock.advance(0);
  expect([first.value, second.value]).toEqual([101, -1]);
});

test('batched returns an async function with its batcher as a property', async () => {
  const clock = new VirtualClock();
  const square = batched(async (items: number[]) => items.map((item) => item * item), { clock });
  const outcomes = [2, 3].map((item) => outcomeOf(square(item, { priority: 1 })));
  await clock.advance(0);
  expect(outcomes.map(({ value }) => value)).toEqual([4, 9]);
  expect(square.batcher.stats()).toMatchObject({ submitted: 2, batches: 1 });
  await square.batcher.close();
  await expect(square(4)).rejects.toMatchObject({ code: 'CLOSED' });
});
