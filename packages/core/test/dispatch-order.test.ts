/** The dispatch order can be read without a change of the queue, and equals the order in which items are taken. */
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { Heap } from '../src/heap.js';
import { Entry } from '../src/queue/entry.js';
import type { Group } from '../src/queue/group.js';
import { ItemQueue } from '../src/queue/item-queue.js';

const removal = { cancel: () => {}, expire: () => {} };
const sink = { resolve: () => {}, reject: () => {} };
const GROUPS = ['red', 'green'];

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      group: fc.constantFrom(...GROUPS),
      tenant: fc.constantFrom(undefined, ...Array.from({ length: 12 }, (_, i) => `tenant ${i}`)),
      weight: fc.constantFrom(undefined, undefined, 1, 3, 0.7),
      priority: fc.constantFrom(0, 0, 1, 2, -3),
      cost: fc.constantFrom(1, 1, 0.1, 2.5),
      afterMs: fc.constantFrom(0, 0, 1, 700),
      waitedMs: fc.constantFrom(0, 0, 0, 50, 2000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), which: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('take' as const),
      group: fc.constantFrom(...GROUPS),
      count: fc.integer({ min: 1, max: 6 }),
      maxCost: fc.constantFrom(1, 4, Number.POSITIVE_INFINITY),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'hold' as const }) },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A queue after these steps; items are numbered in the order of arrival. */
class Played {
  readonly queue = new ItemQueue(removal, 100);
  readonly groups = new Map<string, Group>();
  readonly entries: Entry<number, unknown>[] = [];
  #now = 0;

  constructor(steps: readonly Step[], looks: boolean) {
    for (const each of steps) {
      this.#play(each);
      if (looks) for (const name of GROUPS) this.read(name);
    }
  }

  #play(each: Step): void {
    const { queue, groups, entries } = this;
    if (each.kind === 'append') {
      const { group, tenant, weight, priority, cost, afterMs, waitedMs } = each;
      const entry = new Entry<number, unknown>(
        entries.length,
        sink,
        { at: this.#now - waitedMs, arrivals: 1 },
        cost,
      );
      entries.push(entry);
      groups.set(group, queue.append(entry, group, queue.tenants.find(tenant, weight), priority));
      this.#now += afterMs;
    } else if (each.kind === 'cancel') {
      const entry = entries[each.which % Math.max(1, entries.length)];
      if (entry !== undefined) queue.remove(entry);
    } else if (each.kind === 'take') this.take(each.group, each.count, each.maxCost);
    else {
      queue.wakeDue(this.#now);
      const group = queue.next;
      if (group !== undefined) queue.hold(group, this.#now + 500, true);
    }
  }

  take(name: string, count: number, maxCost: number): number[] {
    const group = this.groups.get(name);
    if (group === undefined || group.length === 0) return [];
    const { entries } = this.queue.take(group, count, maxCost);
    for (const entry of entries) entry.lane = undefined;
    return entries.map(({ item }) => item as number);
  }

  read(name: string): number[] {
    const group = this.groups.get(name);
    if (group === undefined) return [];
    const order = group.order();
    const read = Array.from({ length: group.length }, (_, position) => order.at(position)?.item as number);
    expect(order.at(group.length)).toBeUndefined();
    return read;
  }

  oneByOne(name: string): number[] {
    const taken: number[] = [];
    for (;;) {
      const [item] = this.take(name, 1, Number.POSITIVE_INFINITY);
      if (item === undefined) return taken;
      taken.push(item);
    }
  }

  get oldestAt(): number {
    const queued = this.entries.filter(({ lane }) => lane !== undefined);
    return Math.min(...queued.map(({ arrivedAt }) => arrivedAt));
  }
}

test('items are taken in the order that is read, at once or one by one, with mixed tenants, weights, priorities and costs', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      for (const name of GROUPS) {
        const order = new Played(steps, false).read(name);
        expect(new Played(steps, false).oneByOne(name)).toEqual(order);
        expect(new Played(steps, false).take(name, Infinity, Infinity)).toEqual(order);
      }
    }),
    { numRuns: 500 },
  );
});

test('reading the order after each step does not change which items are taken', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const [read, unread] = [new Played(steps, true), new Played(steps, false)];
      for (const name of GROUPS) expect(read.oneByOne(name)).toEqual(unread.oneByOne(name));
      expect(read.queue.length).toBe(0);
    }),
    { numRuns: 200 },
  );
});

test('the oldest arrival is that of the oldest queued item at any position', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const played = new Played(steps, false);
      expect(played.queue.oldestAt).toBe(played.oldestAt);
    }),
    { numRuns: 200 },
  );
});

test('reading the first positions does not visit the tenants after them', () => {
  const queue = new ItemQueue(removal, 100);
  const moment = { at: 0, arrivals: 0 };
  let group: Group | undefined;
  for (let i = 0; i < 1000; i++) {
    const tenant = queue.tenants.find(`tenant ${i}`, undefined);
    group = queue.append(new Entry(i, sink, moment, 1), undefined, tenant, 0);
  }
  const visits = vi.spyOn(Heap.prototype, 'at');
  expect(group?.order().at(3)?.item).toBe(3);
  expect(visits.mock.calls.length).toBeLessThan(20);
  visits.mockRestore();
});
