/**
 * The simulator gives the same batches as a `Batcher` on core's virtual clock with the same trace, by a driver that
 * shares only the seeds with the simulator.
 */
import { adaptive, Batcher, BatchwiseError, greedy, type Policy, VirtualClock, window } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { recorded } from '../src/simulation/arrivals.js';
import { formulaCurve } from '../src/simulation/curve.js';
import { exponential, lognormal, type Random, randomStream } from '../src/simulation/random.js';
import type { Scenario, Traits } from '../src/simulation/scenario.js';
import { simulate } from '../src/simulation/simulate.js';

interface Item extends Traits {
  readonly index: number;
}

interface Replayed {
  readonly batches: { startedAt: number; size: number; reason: string; first: number }[];
  /** From arrival to response, in order of arrival; NaN without a response. */
  readonly latencyMs: number[];
  refused: number;
}

/** Timers as in Node: whole milliseconds, at least one. */
class CoarseClock extends VirtualClock {
  readonly timerResolutionMs = 1;

  override setTimer(callback: () => void, delayMs: number): unknown {
    return super.setTimer(callback, Math.max(1, Math.ceil(delayMs)));
  }

  exactTimer(callback: () => void, delayMs: number): unknown {
    return super.setTimer(callback, delayMs);
  }
}

/** Sends the trace to a batcher, and records the results. */
async function replay(
  scenario: Scenario,
  times: readonly number[],
  policy: Policy,
  knowsTarget: boolean,
): Promise<Replayed> {
  const { curve, slots, targetLatencyMs, noise, seed, timerMs, traits, batchSizes } = scenario;
  const clock = timerMs === 0 ? new VirtualClock() : new CoarseClock();
  const after = (ms: number, callback: () => void) =>
    clock instanceof CoarseClock ? clock.exactTimer(callback, ms) : clock.setTimer(callback, ms);
  const [ofService, ofTraits] = [randomStream(seed, 'service'), randomStream(seed, 'traits')];
  const replayed: Replayed = { batches: [], latencyMs: times.map(() => Number.NaN), refused: 0 };
  const batcher = new Batcher<Item, Item>(
    (items, { cost, reason }) => {
      const [{ index: first }] = items as [Item];
      replayed.batches.push({ startedAt: clock.now(), size: items.length, reason, first });
      const durationMs = curve.durationMs(cost) * (noise > 0 ? lognormal(ofService, noise) : 1);
      return new Promise((resolve) => after(durationMs, () => resolve(items)));
    },
    {
      clock,
      policy,
      maxBatchSize: curve.maxBatchSize,
      concurrency: slots,
      batchSizes,
      targetLatencyMs: knowsTarget ? targetLatencyMs : Number.POSITIVE_INFINITY,
      ...(traits === undefined ? {} : { costOf: ({ cost = 1 }: Item) => cost }),
      ...(traits === mixedTraits ? { groupOf: ({ group }: Item) => group } : {}),
    },
  );
  for (const [index, at] of times.entries()) {
    await clock.advance(at - clock.now());
    const item: Item = { index, ...traits?.(ofTraits) };
    const { priority, tenant } = item;
    const resolve = () => {
      replayed.latencyMs[index] = clock.now() - at;
    };
    const reject = (error: Error) => {
      expect(error).toBeInstanceOf(BatchwiseError);
      replayed.refused += 1;
    };
    batcher.enqueue(item, { resolve, reject }, { priority, tenant });
  }
  await clock.advance(60_000);
  return replayed;
}

/** Alternating light and heavy load, with bursts. */
function trace(items: number, meanGapMs: number, seed: number): number[] {
  const random = randomStream(seed, 'trace');
  let at = 0;
  return Array.from({ length: items }, (_, i) => {
    const isBurst = i % 40 < 10;
    const isBusy = i % 400 < 200;
    at += exponential(random, (isBurst ? 0.05 : isBusy ? 0.7 : 1.8) * meanGapMs);
    return at;
  });
}

const mixedTraits = (random: Random): Traits => ({
  cost: [1, 1, 2, 5][Math.floor(4 * random())] as number,
  group: Math.floor(3 * random()),
  priority: random() < 0.2 ? 1 : 0,
  tenant: random() < 0.5 ? 'acme' : 'bolt',
});
const costsOnly = (random: Random): Traits => ({
  cost: [1, 1, 2, 5][Math.floor(4 * random())] as number,
  priority: random() < 0.2 ? 1 : 0,
});

const straight = formulaCurve('straight', 32, (cost) => 4 + 0.2 * cost);
const padded = formulaCurve('padded', 32, (cost) => 2 + 0.3 * 2 ** Math.ceil(Math.log2(cost)));
const base = { name: 'trace', targetLatencyMs: Number.POSITIVE_INFINITY, noise: 0.1, timerMs: 0, seed: 4 };
const ITEMS = 800;

const WORLDS: [string, Omit<Scenario, 'arrivals' | 'items'>, number][] = [
  ['one slot, a target', { ...base, curve: straight, slots: 1, targetLatencyMs: 30 }, 0.5],
  ['one slot that pads', { ...base, curve: padded, slots: 1 }, 0.6],
  ['known padded sizes', { ...base, curve: padded, slots: 1, batchSizes: [1, 2, 4, 8, 16, 32] }, 0.5],
  ['two slots, timers of Node', { ...base, curve: straight, slots: 2, timerMs: 1 }, 0.4],
  [
    'three slots, groups, costs, priorities, tenants, a target, timers of Node',
    { ...base, curve: straight, slots: 3, targetLatencyMs: 40, timerMs: 1, traits: mixedTraits },
    0.5,
  ],
];

const CONTENDERS: [string, () => Policy, boolean][] = [
  ['adaptive()', () => adaptive(), true],
  ["adaptive({ prefer: 'efficiency' })", () => adaptive({ prefer: 'efficiency' }), true],
  ['greedy()', () => greedy(), false],
  ['window()', () => window({ maxWaitMs: 2 }), false],
];

async function expectSameBatches(
  world: Omit<Scenario, 'arrivals' | 'items'>,
  meanGapMs: number,
  [name, policy, knowsTarget]: (typeof CONTENDERS)[number],
): Promise<void> {
  const times = trace(ITEMS, meanGapMs, 9);
  const scenario: Scenario = { ...world, arrivals: recorded('trace', times), items: ITEMS };
  const run = await simulate(scenario, { name, policy, knowsTarget });
  const replayed = await replay(scenario, times, policy(), knowsTarget);
  expect(replayed.batches.length).toBeGreaterThan(20);
  expect(replayed.batches).toEqual(
    run.batches.map(({ startedAt, size, reason, first }) => ({ startedAt, size, reason, first })),
  );
  expect(replayed.latencyMs).toEqual([...run.latencyMs]);
  expect(replayed.refused).toBe(run.refused);
}

describe.each(WORLDS)('%s', (_, world, meanGapMs) => {
  test.each(CONTENDERS)('%s makes the same batches', async (...contender) => {
    await expectSameBatches(world, meanGapMs, contender);
  });
});

// Root cause: for items with any traits the simulated batcher got `groupOf` as well, and the policy does not hold items
// of groups.
test('items that differ in cost and priority, but not in group, are simulated as such', async () => {
  const world = { ...base, curve: straight, slots: 3, targetLatencyMs: 40, traits: costsOnly };
  await expectSameBatches(world, 0.4, CONTENDERS[0] as (typeof CONTENDERS)[number]);
});
