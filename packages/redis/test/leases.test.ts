/** When a processor says that it is alive, and what it takes for dead: on virtual time, against a Redis that only listens. */
import { VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import type { Argument, RedisLink } from '../src/connection/link.js';
import type { Script } from '../src/connection/script.js';
import { HeldItems } from '../src/held-items.js';
import { type LeaseOwner, Leases } from '../src/leases.js';
import { queueKeys } from '../src/queue-keys.js';
import { RedisTime } from '../src/redis-time.js';

test('what fell silent is taken over within its lease, whenever that began', async () => {
  const leaseMs = 1000;
  const clock = new VirtualClock();
  const beats: number[] = [];
  const looks: { readonly at: number; readonly silentMs: number }[] = [];
  const link = {
    isUp: true,
    onDown() {},
    onUp() {},
    async run({ name }: Script, _keys: readonly string[], args: readonly Argument[]) {
      if (name === 'renew') beats.push(clock.now());
      if (name === 'reclaim') looks.push({ at: clock.now(), silentMs: Number(args[2]) });
      return [clock.now(), 0].slice(0, name === 'renew' ? 1 : 2);
    },
  } as unknown as RedisLink;
  const owner: LeaseOwner<number> = {
    ...{ keys: queueKeys('q'), link, clock, consumer: 'me', time: new RedisTime(), held: new HeldItems() },
    ...{
      settings: { leaseMs, maxDeliveries: 3, batching: {} },
      maxBatchSize: 64,
      isPaused: false,
      ratePerSecond: 0,
      portrait: {},
    },
    ...{ tookOver: async () => {}, adopt: async () => [], beaten() {}, died() {}, lost() {} },
    leaseFailed(error) {
      throw error;
    },
  };
  const leases = new Leases(owner);
  await leases.start();
  await clock.advance(10 * leaseMs);
  leases.stop();
  // A living processor has renewed long before anybody takes it for dead.
  const longestSilence = Math.max(...beats.slice(1).map((at, i) => at - (beats[i] as number)));
  const taken = looks.map(({ silentMs }) => silentMs);
  expect(longestSilence).toBeLessThan(Math.min(...taken) / 2);
  // The worst case: it falls silent right after a renewal, and is looked at just before it has been silent for long enough.
  const between = looks.slice(1).map(({ at }, i) => at - (looks[i] as { at: number }).at);
  expect(Math.max(...taken) + Math.max(...between)).toBeLessThanOrEqual(leaseMs);
  expect(looks.length).toBeGreaterThan(30);
});
