/** Guarantee 1 with backends: for any failures and changes of the set, every caller is settled once. */
import { type Backend, BackendSet, Batcher, BatchwiseError, VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expectBooksToBalance, expectRest } from '../support/books.js';
import { Gate } from '../support/gate.js';
import { outcomeOf } from '../support/outcome.js';

const ENDINGS = ['results', 'lost', 'notStarted', 'throw', 'ownErrors', 'oneByOne'] as const;
const HEALTH = [true, false, 'unreachable'] as const;

const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('submit' as const),
      item: fc.nat(5),
      timeoutMs: fc.constantFrom(undefined, 1, 20, 3000),
      abort: fc.boolean(),
      tenant: fc.constantFrom(undefined, 'acme', 'umbrella'),
      priority: fc.constantFrom(0, 0, 1),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      which: fc.nat(9),
      as: fc.constantFrom(...ENDINGS),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(0, 1, 10, 1000) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('health' as const),
      which: fc.nat(2),
      health: fc.constantFrom(...HEALTH),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('away' as const), which: fc.nat(2) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('drain' as const, 'remove' as const), which: fc.nat(2) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('add' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('abort' as const) }) },
);

const options = fc.record({
  maxBatchSize: fc.constantFrom(1, 3, 8),
  targetLatencyMs: fc.constantFrom(30, Infinity),
  handlerTimeoutMs: fc.constantFrom(15, Infinity),
  maxQueueSize: fc.constantFrom(4, Infinity),
  isolate: fc.boolean(),
});

const setup = fc.record({
  options,
  grouped: fc.boolean(),
  deduped: fc.boolean(),
  shared: fc.boolean(),
  readsAhead: fc.boolean(),
  whenNoneReady: fc.constantFrom('wait' as const, 'fail' as const, 'try' as const),
  maxFailures: fc.constantFrom(1, 2, 5),
  end: fc.constantFrom('close' as const, 'destroy' as const),
});

test('every caller is settled once, the counts add up, and no slot is lost', async () => {
  const property = fc.asyncProperty(
    setup,
    fc.array(step, { maxLength: 60, size: 'max' }),
    async (made, steps) => {
      const clock = new VirtualClock();
      const gates: Gate<number, number | Error>[] = [];
      const away = new Set<string>();
      const ended = new Set<unknown>();
      const backendOf = (n: number): Backend<number, number> => {
        const gate = new Gate<number, number | Error>();
        gates.push(gate);
        const id = `b${n}`;
        return {
          id,
          slots: 1 + (n % 2),
          readsAhead: made.readsAhead,
          run: (items, context) => {
            if (away.has(id)) throw new BatchwiseError('UNAVAILABLE', 'away', { notStarted: true });
            return gate.handler(items, context);
          },
        };
      };
      const { whenNoneReady, maxFailures } = made;
      const backends = new BackendSet([backendOf(0), backendOf(1)], { clock, whenNoneReady, maxFailures });
      const newBatcher = () =>
        new Batcher<number, number>({
          ...{ backends, clock, ...made.options },
          ...(made.grouped ? { groupOf: (item: number) => item % 2 } : {}),
          ...(made.deduped ? { dedupeBy: (item: number) => item } : {}),
        });
      const batchers = made.shared ? [newBatcher(), newBatcher()] : [newBatcher()];
      const outcomes: ReturnType<typeof outcomeOf>[] = [];
      let controller = new AbortController();
      let turn = 0;
      const known = () => backends.stats().map(({ id }) => id);
      const end = (which: number, as: (typeof ENDINGS)[number]): void => {
        const open = gates.flatMap(({ calls }) => calls).filter((call) => !ended.has(call));
        const call = open[which % Math.max(1, open.length)];
        if (call === undefined) return;
        ended.add(call);
        if (as === 'results') call.answer(call.items);
        else if (as === 'ownErrors') call.answer(call.items.map(() => new Error('own')));
        else if (as === 'throw') call.fail(new Error('bad item'));
        else if (as === 'oneByOne') {
          call.context.answer(0, call.items[0]);
          call.fail(new BatchwiseError('UNAVAILABLE', 'cut off', { notStarted: true }));
        } else call.fail(new BatchwiseError('UNAVAILABLE', as, { notStarted: as === 'notStarted' }));
      };
      for (const each of steps) {
        const ids = known();
        const id = 'which' in each ? ids[each.which % Math.max(1, ids.length)] : undefined;
        if (each.do === 'submit') {
          const { timeoutMs, tenant, priority } = each;
          const signal = each.abort ? { signal: controller.signal } : {};
          const batcher = batchers[turn++ % batchers.length] as (typeof batchers)[0];
          outcomes.push(outcomeOf(batcher.submit(each.item, { timeoutMs, tenant, priority, ...signal })));
        } else if (each.do === 'end') end(each.which, each.as);
        else if (each.do === 'advance') await clock.advance(each.ms);
        else if (each.do === 'abort') {
          controller.abort();
          controller = new AbortController();
        } else if (each.do === 'add') backends.add(backendOf(gates.length));
        else if (id !== undefined) {
          if (each.do === 'health') backends.setHealth(id, each.health);
          else if (each.do === 'away') away.has(id) ? away.delete(id) : away.add(id);
          else if (each.do === 'drain') void backends.drain(id);
          else backends.remove(id);
        }
        await clock.settle();
        for (const batcher of batchers) expectBooksToBalance(batcher);
        for (const { running, slots, state } of backends.stats()) {
          if (state === 'ready') expect(running).toBeLessThanOrEqual(slots + Number(made.readsAhead));
        }
      }
      // All backends recover, and all remaining items are answered.
      away.clear();
      backends.add(backendOf(gates.length));
      for (const id of known()) backends.setHealth(id, true);
      let closed = 0;
      for (const batcher of batchers) {
        if (made.end === 'destroy') batcher.destroy();
        else void batcher.close().then(() => (closed += 1));
      }
      for (let i = 0; i < 200 && outcomes.some(({ settled }) => settled === 0); i++) {
        await clock.advance(i < 100 ? 0 : 1000);
        for (let open = 0; open < 8; open++) end(0, 'results');
      }
      await clock.advance(5000);
      for (let open = 0; open < 30; open++) end(0, 'results');
      await clock.advance(40_000);
      expect(outcomes.map(({ settled }) => settled)).toEqual(outcomes.map(() => 1));
      for (const batcher of batchers) expectRest(batcher);
      expect(backends.stats().map(({ running }) => running)).toEqual(backends.stats().map(() => 0));
      if (made.end === 'close') expect(closed).toBe(batchers.length);
      expect(clock.pendingTimers).toBe(0);
    },
  );
  await fc.assert(property, { numRuns: 150 });
}, 30_000);
