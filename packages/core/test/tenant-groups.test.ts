/** The count of the groups in which a tenant has items. */
import { adaptive, greedy, VirtualClock, window } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Dispatcher } from '../src/dispatch/dispatcher.js';
import { newSettings } from '../src/options/options.js';
import type { Ticket } from '../src/queue/entry.js';
import type { Tenant } from '../src/queue/tenants.js';

interface Item {
  readonly group: string | undefined;
  readonly work: number;
}

const policies = [() => adaptive(), () => greedy(), () => window({ maxWaitMs: 20 })];

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      tenant: fc.constantFrom(undefined, 'a', 'b', 'c'),
      group: fc.constantFrom(undefined, 'x', 'y', 'z'),
      priority: fc.constantFrom(0, 0, 1, -1),
      timeoutMs: fc.constantFrom(undefined, undefined, 5, 30),
      work: fc.nat(20),
    }),
  },
  { weight: 1, arbitrary: fc.record({ cancel: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ advanceMs: fc.constantFrom(1, 5, 20) }) },
  { weight: 1, arbitrary: fc.constant('flush' as const) },
);

function expectCounted({ queue }: Dispatcher): void {
  const groups = new Map<Tenant, Set<unknown>>();
  for (const { lane } of queue.entries()) {
    if (lane !== undefined) groups.set(lane.tenant, (groups.get(lane.tenant) ?? new Set()).add(lane.group));
  }
  for (const id of [undefined, 'a', 'b', 'c']) {
    const tenant = queue.tenants.find(id, undefined);
    expect(tenant.groups).toBe(groups.get(tenant)?.size ?? 0);
  }
}

test('a tenant counts the groups in which it has items', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...policies),
      fc.constantFrom(20, 60, Number.POSITIVE_INFINITY),
      fc.boolean(),
      fc.array(step, { maxLength: 150 }),
      async (policy, targetLatencyMs, dedupes, steps) => {
        const clock = new VirtualClock();
        const handler = async (items: Item[]) => {
          await new Promise<void>((resolve) => clock.setTimer(resolve, 5 + items.length));
          return items;
        };
        const dispatcher = new Dispatcher(
          newSettings(handler, {
            clock,
            policy: policy(),
            maxBatchSize: 4,
            targetLatencyMs,
            groupOf: ({ group }) => group,
            ...(dedupes ? { dedupeBy: ({ work }) => work } : {}),
          }),
        );
        const tickets: Ticket[] = [];
        let settled = 0;
        const sink = { resolve: () => void settled++, reject: () => void settled++ };
        for (const each of steps) {
          if (each === 'flush') dispatcher.flush();
          else if ('cancel' in each) tickets[each.cancel % Math.max(1, tickets.length)]?.cancel();
          else if ('advanceMs' in each) await clock.advance(each.advanceMs);
          else tickets.push(dispatcher.intake.submit(each, sink, each));
          expectCounted(dispatcher);
        }
        await clock.advance(10_000);
        expectCounted(dispatcher);
        expect(dispatcher.queue.length).toBe(0);
        expect(settled).toBe(tickets.length);
        dispatcher.destroy();
      },
    ),
    { numRuns: 100 },
  );
});
