import { getEventListeners } from 'node:events';
import type { BatchwiseError } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { gated } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';

describe('a signal', () => {
  test('that has fired already rejects the call at once, with its reason as the cause', async () => {
    const { clock, gate, batcher } = gated();
    const reason = new Error('the user went away');
    const outcome = outcomeOf(batcher.submit(1, { signal: AbortSignal.abort(reason) }));
    await clock.advance(0);
    expect(outcome.code).toBe('CANCELLED');
    expect((outcome.error as BatchwiseError).cause).toBe(reason);
    expect(gate.batches).toEqual([]);
    expect(batcher.stats()).toMatchObject({ submitted: 1, cancelled: 1 });
  });

  test('sets its reason as the cause, for queued and running items', async () => {
    const { clock, batcher } = gated({ maxBatchSize: 1 });
    const controller = new AbortController();
    const { signal } = controller;
    const outcomes = [1, 2].map((item) => outcomeOf(batcher.submit(item, { signal })));
    await clock.advance(0);
    expect(batcher.stats()).toMatchObject({ running: 1, queued: 1 });
    controller.abort('changed my mind');
    await clock.advance(0);
    for (const { error } of outcomes) {
      expect(error).toMatchObject({ code: 'CANCELLED', cause: 'changed my mind' });
    }
  });

  test('shared by a thousand calls has one listener, and none after they are settled', async () => {
    const { clock, gate, batcher } = gated({ maxBatchSize: 1000 });
    const { signal } = new AbortController();
    const outcomes = Array.from({ length: 1000 }, (_, item) => outcomeOf(batcher.submit(item, { signal })));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await clock.advance(0);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    gate.call(0).answer(gate.call(0).items);
    await clock.advance(0);
    expect(outcomes.every(({ value }, item) => value === item)).toBe(true);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('shared by calls of several batchers cancels the unsettled calls and has no listener afterwards', async () => {
    const { clock, gate, batcher } = gated({ maxBatchSize: 500 });
    const other = gated({ maxBatchSize: 10 });
    const controller = new AbortController();
    const { signal } = controller;
    const outcomes = Array.from({ length: 1000 }, (_, item) => outcomeOf(batcher.submit(item, { signal })));
    const elsewhere = outcomeOf(other.batcher.submit(1, { signal }));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await clock.advance(0);
    gate.call(0).answer(gate.call(0).items);
    await clock.advance(0);
    controller.abort();
    await clock.advance(0);
    expect(outcomes.filter(({ state }) => state === 'resolved')).toHaveLength(500);
    expect(outcomes.filter(({ code }) => code === 'CANCELLED')).toHaveLength(500);
    expect(elsewhere.code).toBe('CANCELLED');
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test.each(['rejected', 'expired', 'destroyed'])('has no listener after its call is %s', async (ending) => {
    const { clock, batcher } = gated({ maxQueueSize: 1 });
    const { signal } = new AbortController();
    batcher.submit(0).catch(() => {});
    await clock.advance(0);
    const outcome = outcomeOf(batcher.submit(1, { signal, timeoutMs: 10 }));
    if (ending === 'rejected') outcomeOf(batcher.submit(2, { signal }));
    if (ending === 'destroyed') batcher.destroy();
    await clock.advance(10);
    expect(outcome.settled).toBe(1);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});
