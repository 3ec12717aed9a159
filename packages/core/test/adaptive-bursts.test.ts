/** Bursts and returning callers share batches; independent arrivals are not held for each other. */
import { adaptive, greedy, type Policy, VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { CoarseClock } from './support/coarse-clock.js';
import { at, Driven } from './support/driven.js';
import { burstTimes, exponential, poissonTimes, seeded } from './support/random.js';

const durationMs = (cost: number) => 10 + 0.2 * cost;
const CLOCKS = [
  ['ideal timers', () => new VirtualClock()],
  ['timers of Node', () => new CoarseClock()],
] as const;

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
/** The values after the first half, in which the policy learns, and before the run ends. */
const laterHalf = <T>(values: readonly T[]) => values.slice(values.length >> 1, -5);
const meanSize = ({ batches }: Driven) => mean(laterHalf(batches).map(({ context }) => context.size));

/** Runs `users` users that submit again a round trip after each response, for `calls` calls in total. */
async function closedLoop(
  policy: Policy,
  users: number,
  roundTripMs: number,
  calls: number,
  clock: VirtualClock,
) {
  const driven = new Driven(durationMs, { policy }, clock);
  const random = seeded(users);
  let remainingCalls = calls;
  const call = (): void => {
    if (remainingCalls-- > 0) driven.arrive({}, () => driven.after(exponential(random, roundTripMs), call));
  };
  for (let user = 0; user < users; user++) driven.after(5 * random(), call);
  await driven.clock.advance(calls * durationMs(1));
  return driven;
}

describe.each(CLOCKS)('with %s', (_, clock) => {
  test.each([4, 16, 32])('%i users with a short round trip share one batch', async (users) => {
    const driven = await closedLoop(adaptive(), users, 0.2, 80 * users, clock());
    expect(driven.latenciesMs).toHaveLength(80 * users);
    expect(meanSize(driven)).toBeGreaterThan(0.9 * users);
    expect(mean(laterHalf(driven.latenciesMs))).toBeLessThan(1.15 * durationMs(users));
    // Greedy dispatch sends the first return alone, so the users split into alternating batches.
    const withGreedy = await closedLoop(greedy(), users, 0.2, 80 * users, clock());
    expect(meanSize(withGreedy)).toBeLessThan(0.6 * users);
  });

  test('calls that fan out from one call share a batch', async () => {
    const times = burstTimes(seeded(2), 16, 0.5, 60, 150);
    const ours = await new Driven(durationMs, {}, clock()).play(at(times));
    const withGreedy = await new Driven(durationMs, { policy: greedy() }, clock()).play(at(times));
    expect(ours.latenciesMs).toHaveLength(times.length);
    expect(mean(laterHalf(ours.latenciesMs))).toBeLessThan(0.75 * mean(laterHalf(withGreedy.latenciesMs)));
    // The largest batch of each burst has most of its items.
    const largest = laterHalf(ours.batches).filter(({ context }) => context.size >= 8);
    expect(mean(largest.map(({ context }) => context.size))).toBeGreaterThan(12);
  });

  test('independent arrivals are not held for each other', async () => {
    for (const gapMs of [2, 5, 20]) {
      const times = poissonTimes(seeded(gapMs), gapMs, 1500);
      const ours = await new Driven(durationMs, {}, clock()).play(at(times));
      const withGreedy = await new Driven(durationMs, { policy: greedy() }, clock()).play(at(times));
      expect(mean(ours.latenciesMs) / mean(withGreedy.latenciesMs)).toBeLessThan(1.03);
    }
  });
});

test('with unlimited slots no item is held', async () => {
  const times = burstTimes(seeded(2), 16, 0.5, 60, 150);
  const options = { concurrency: Number.POSITIVE_INFINITY };
  const driven = await new Driven(durationMs, options).play(at(times));
  expect(driven.latenciesMs).toHaveLength(times.length);
  for (const { context } of driven.batches) expect(context.oldestWaitMs).toBe(0);
});

test('an item is hardly held for users that do not return', async () => {
  const driven = await closedLoop(adaptive(), 16, 0.2, 500, new VirtualClock());
  await driven.clock.advance(5000);
  for (let i = 0; i < 20; i++) {
    const arrival = driven.arrive();
    await driven.clock.advance(1000);
    expect((driven.fates.get(arrival)?.endedAt ?? 0) - arrival.at).toBeLessThan(1.1 * durationMs(1));
  }
});

// Root cause: an answered caller counted as returning until its next call, without a limit of time. Each call of the
// remaining user counted as the first return of the others, so that further returns were expected just after it.
test.each(CLOCKS)(
  'the last remaining user is not held for users that have stopped, with %s',
  async (_, clock) => {
    const driven = await closedLoop(adaptive(), 32, 2, 60 * 32, clock());
    const before = driven.latenciesMs.length;
    const random = seeded(32);
    const call = (): void => void driven.arrive({}, () => driven.after(2 + random(), call));
    call();
    await driven.clock.advance(600 * durationMs(1));
    const latenciesMs = laterHalf(driven.latenciesMs.slice(before));
    expect(mean(latenciesMs)).toBeLessThan(1.03 * durationMs(1));
  },
);

test('a change from a closed loop to independent arrivals is learned', async () => {
  const driven = await closedLoop(adaptive(), 16, 0.2, 800, new VirtualClock());
  const times = poissonTimes(seeded(4), 8, 3000);
  await driven.play(at(times));
  const withGreedy = await new Driven(durationMs, { policy: greedy() }).play(at(times));
  expect(mean(driven.latenciesMs.slice(-800)) / mean(withGreedy.latenciesMs.slice(-800))).toBeLessThan(1.02);
});
