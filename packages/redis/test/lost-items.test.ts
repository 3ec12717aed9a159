/** How much a client has Redis look up to find items that are lost: against a Redis that only listens. */
import { expect, test } from 'vitest';
import type { Argument, RedisLink } from '../src/connection/link.js';
import { LostItems } from '../src/lost-items.js';
import { Outgoing } from '../src/outgoing.js';
import { queueKeys } from '../src/queue-keys.js';

const MIB = 1024 * 1024;

function itemsOf(count: number, size: number): Outgoing<unknown>[] {
  return Array.from({ length: count }, (_, i) => {
    const outgoing = new Outgoing<unknown>(i, 2, Number.POSITIVE_INFINITY);
    outgoing.number = i + 1;
    outgoing.id = `${i + 1}-0`;
    outgoing.size = size;
    return outgoing;
  });
}

/** `gone`: the numbers of those that are missing. */
function lostItems(gone: ReadonlySet<string> = new Set()) {
  const lookedUp: string[] = [];
  const lost: number[] = [];
  const link = {
    async run(_script: unknown, _keys: unknown, args: readonly Argument[]) {
      const numbers = args.slice(2).filter((_, i) => i % 3 === 2) as string[];
      lookedUp.push(...numbers);
      return numbers.map((number) => (gone.has(number) ? 1 : 0));
    },
  } as unknown as RedisLink;
  const items = new LostItems({
    ...{ keys: queueKeys('q'), link, clientId: 'json-1', caughtUp: async () => {} },
    lost: (some) => lost.push(...some.map(({ number }) => number)),
  });
  return { items, lookedUp, lost };
}

// All were read by Redis each time: 1,000 items of 1 MiB that no processor took kept two thirds of it busy.
test('a regular check looks up a few MiB at a time, and all items in turn', async () => {
  const { items, lookedUp } = lostItems();
  const suspects = itemsOf(100, MIB);
  for (let check = 1; check <= 7; check += 1) {
    await items.check(suspects);
    expect(lookedUp.length).toBeLessThanOrEqual(16 * check);
  }
  expect(new Set(lookedUp)).toEqual(new Set(suspects.map(({ number }) => String(number))));
  // From the beginning again, though others have come meanwhile.
  lookedUp.length = 0;
  await items.check(itemsOf(200, MIB));
  expect(lookedUp[0]).toBe('1');
});

test('small items are all looked up at once, and only once at a time', async () => {
  const { items, lookedUp } = lostItems();
  const suspects = itemsOf(10_000, 100);
  await Promise.all([items.check(suspects), items.check(suspects)]);
  expect(lookedUp).toHaveLength(10_000);
});

test('when one of those that were looked up is lost, all are looked up', async () => {
  const { items, lost } = lostItems(new Set(['3', '90']));
  await items.check(itemsOf(100, MIB));
  expect(new Set(lost)).toEqual(new Set([3, 90]));
});
