/** Handlers may return typed arrays, as models do: one number for each item. */
import { Batcher, VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { outcomeOf } from './support/outcome.js';

test.each([Float32Array, Float64Array, Int32Array, Uint8ClampedArray])('%o', async (Type) => {
  for (const handler of [
    (items: number[]) => Type.from(items),
    async (items: number[]) => Type.from(items),
  ]) {
    const clock = new VirtualClock();
    const batcher = new Batcher(handler, { clock });
    const outcomes = [1, 2, 3].map((item) => outcomeOf(batcher.submit(item)));
    await clock.advance(0);
    expect(outcomes.map(({ value }) => value)).toEqual([1, 2, 3]);
    expectRest(batcher);
  }
});

test('big integers', async () => {
  const clock = new VirtualClock();
  const batcher = new Batcher((items: number[]) => BigInt64Array.from(items, BigInt), { clock });
  const outcome = outcomeOf(batcher.submit(2 ** 40));
  await clock.advance(0);
  expect(outcome.value).toBe(1_099_511_627_776n);
});
