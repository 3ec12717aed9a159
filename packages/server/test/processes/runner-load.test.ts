import type { BatcherStats } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { loadByCalls, loadOf } from '../../src/processes/runner-load.js';
import { SETTINGS } from './support/gated-runner.js';

const IDLE = {
  queued: 0,
  queuedCost: 0,
  running: 0,
  batchesRunning: 0,
  curve: [
    { cost: 1, durationMs: 10 },
    { cost: 11, durationMs: 20 },
  ],
} as unknown as BatcherStats;

const settings = { ...SETTINGS, batching: { ...SETTINGS.batching, maxBatchSize: 11 } };

describe('how long one more call would take', () => {
  test.each([
    ['nothing to do: a batch of its own', {}, 10],
    ['some who wait: a batch with them', { queued: 5, queuedCost: 5 }, 15],
    ['a full batch who wait: that one and its own', { queued: 11, queuedCost: 11 }, 30],
    ['a batch that runs: half of it and its own', { running: 11, batchesRunning: 1 }, 20],
    ['nothing learned: as if each took a millisecond', { curve: [] }, 1],
  ])('with %s', (_, stats, expected) => {
    expect(loadOf({ ...IDLE, ...stats }, settings).waitMs).toBeCloseTo(expected);
  });

  test('is shared by the slots', () => {
    const busy = { ...IDLE, queued: 110, queuedCost: 110 };
    expect(loadOf(busy, { ...settings, concurrency: 2 }).waitMs).toBeCloseTo(100 + 10);
    expect(loadOf(busy, settings).waitMs).toBeCloseTo(200 + 10);
  });

  test('counts every call as a batch when they are not batched', () => {
    const alone = { ...settings, batching: { ...settings.batching, enabled: false } };
    expect(loadOf({ ...IDLE, queued: 4, queuedCost: 4 }, alone).waitMs).toBeCloseTo(50);
  });

  test('is a number without a limit to the batch, too', () => {
    const endless = {
      ...settings,
      batching: { ...settings.batching, maxBatchSize: Number.POSITIVE_INFINITY },
    };
    expect(loadOf({ ...IDLE, queued: 4, queuedCost: 4 }, endless)).toMatchObject({
      waitMs: 14,
      waitMsPerCall: 0,
    });
  });

  test('grows with the calls when nothing else is known', () => {
    expect(loadByCalls(3).waitMs).toBeGreaterThan(loadByCalls(2).waitMs);
  });
});
