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
  const on = { down: (_: Error) => {}, up: () => {} };
  const link = {
    isUp: true,
    onDown(listener: (error: Error) => void) {
      on.down = listener;
    },
    onUp(listener: () => void) {
      on.up = listener;
    },
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
  return { owner, clock, on };
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

/** A processor that beats; `recorded` is what Redis knows of its last heartbeat. */
async function beating(lossMs = 0) {
  let recorded = 0;
  const looks: { readonly at: number; readonly silentMs: number }[] = [];
  const { owner, clock, on } = ownerWith(new HeldItems(), async ({ name }, args) => {
    const now = 1_000_000 + clock.now();
    if (name === 'reclaim') looks.push({ at: clock.now(), silentMs: Number(args[2]) });
    if (name !== 'renew') return [now, 0];
    const before = recorded;
    recorded = now;
    return [now, before];
  });
  const leases = new Leases(owner);
  await leases.start();
  await clock.advance(leaseMs);
  const lose = () => {
    recorded -= lossMs;
  };
  return { clock, on, looks, leases, lose };
}

// Root cause: after each lost connection nothing was taken over for a whole lease.
test('connections that are lost more often than once per lease do not stop take-overs', async () => {
  const { clock, on, looks, leases } = await beating();
  const before = looks.length;
  for (let drop = 1; drop <= 40; drop += 1) {
    on.down(new Error('closed'));
    await clock.advance(leaseMs / 100);
    on.up();
    await clock.advance(leaseMs / 8);
  }
  leases.stop();
  const seen = looks.slice(before);
  expect(seen.length).toBeGreaterThan(4 * 5);
  expect(new Set(seen.map(({ silentMs }) => silentMs))).toEqual(new Set([(leaseMs * 3) / 4]));
});

test('while the connection is lost nothing is taken over, and afterwards not before Redis has taken a heartbeat', async () => {
  const { clock, on, looks, leases } = await beating();
  const before = looks.length;
  on.down(new Error('closed'));
  await leases.still();
  expect(looks.length).toBe(before);
  on.up();
  await clock.settle();
  expect(looks.length).toBe(before + 1);
  leases.stop();
});

test.each([
  ['renewals that a failover has lost', leaseMs],
  ['a heartbeat that Redis does not know at all', 10_000_000],
])('for a lease after %s, silence of that time is not held against others', async (_, lossMs) => {
  const { clock, looks, leases, lose } = await beating(lossMs);
  lose();
  const before = looks.length;
  await clock.advance(3 * leaseMs);
  leases.stop();
  const seen = looks.slice(before);
  const [first] = seen;
  // The others may have renewed up to a quarter before this one did.
  const during = seen.filter(({ at }) => at < (first?.at ?? 0) + leaseMs);
  for (const { at, silentMs } of during) {
    expect(silentMs).toBeGreaterThanOrEqual(lossMs + leaseMs / 2 + (at - (first?.at ?? 0)));
  }
  expect(during.length).toBeGreaterThanOrEqual(3);
  expect(seen.at(-1)?.silentMs).toBe((leaseMs * 3) / 4);
});

// After a reconnect, a heartbeat that Redis refused was repeated at once, without end.
test('heartbeats that Redis refuses after a reconnect come no more often than others', async () => {
  let beats = 0;
  let isRefusing = false;
  const { owner, clock, on } = ownerWith(new HeldItems(), async ({ name }) => {
    if (name === 'renew') beats += 1;
    if (isRefusing && beats < 1000) throw new Error('NOGROUP no such key');
    return [clock.now(), 0];
  });
  const leases = new Leases({ ...owner, leaseFailed() {} });
  await leases.start();
  on.down(new Error('closed'));
  isRefusing = true;
  beats = 0;
  on.up();
  await clock.advance(leaseMs);
  leases.stop();
  expect(beats).toBe(5);
});
