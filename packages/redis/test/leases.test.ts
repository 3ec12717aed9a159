/** When a processor says that it is alive, and what it takes for dead: on virtual time, against a Redis that only listens. */
import { VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import type { Argument, RedisLink, Reply } from '../src/connection/link.js';
import type { Script } from '../src/connection/script.js';
import { Delivery } from '../src/delivery.js';
import { HeldItems } from '../src/held-items.js';
import { type LeaseOwner, Leases } from '../src/leases.js';
import { queueKeys } from '../src/queue-keys.js';
import { RedisTime } from '../src/redis-time.js';

const leaseMs = 1000;

function ownerWith(
  held: HeldItems<number>,
  answer: (script: Script, args: readonly Argument[]) => Promise<Reply>,
) {
  const clock = new VirtualClock();
  const link = {
    isUp: true,
    onDown() {},
    onUp() {},
    run: (script: Script, _keys: readonly string[], args: readonly Argument[]) => answer(script, args),
  } as unknown as RedisLink;
  const owner: LeaseOwner<number> = {
    ...{ keys: queueKeys('q'), link, clock, consumer: 'me', time: new RedisTime(), held },
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
  return { owner, clock };
}

// Its answer and the question what there is to take over were under way together, and it ran a second time.
test('an item of its own that was answered while Redis was asked is not run again', async () => {
  const held = new HeldItems<number>();
  const answered = new Delivery<number>(2, '1-0', 'json-1 1 0', '1', 1);
  held.add(answered);
  const { owner, clock } = ownerWith(held, async ({ name }) => {
    if (name !== 'reclaim') return [0];
    held.remove(answered);
    return [0, 0, 2, '1-0', 'json-1 1 0', '1', 1, 2, '1-1', 'json-1 2 0', '2', 2];
  });
  const run: string[] = [];
  const leases = new Leases({
    ...owner,
    tookOver: async (items) => {
      run.push(...held.unknownOf(items).map(({ id }) => id));
      leases.stop();
    },
  });
  await leases.start();
  await clock.settle();
  expect(run).toEqual(['1-1']);
});

test('what fell silent is taken over within its lease, whenever that began', async () => {
  const beats: number[] = [];
  const looks: { readonly at: number; readonly silentMs: number }[] = [];
  const { owner, clock } = ownerWith(new HeldItems(), async ({ name }, args) => {
    if (name === 'renew') beats.push(clock.now());
    if (name === 'reclaim') looks.push({ at: clock.now(), silentMs: Number(args[2]) });
    return [clock.now(), 0].slice(0, name === 'renew' ? 1 : 2);
  });
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
