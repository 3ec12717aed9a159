/** How items go out. */
import { type BatchContext, realClock } from 'batchwise';
import { expect, test } from 'vitest';
import { codecFor } from '../src/codec.js';
import type { RedisLink } from '../src/connection/link.js';
import { Outbox, type OutboxOwner } from '../src/outbox.js';
import { Outgoing, OutgoingGroup } from '../src/outgoing.js';
import { queueKeys } from '../src/queue-keys.js';

/** To a Redis that replies this to each submission. */
function outboxTo(reply: string | number) {
  const order: string[] = [];
  const link: Partial<RedisLink> = {
    isUp: true,
    onUp: () => {},
    onDown: () => {},
    run: async () => {
      order.push('submit');
      return reply;
    },
  };
  const owner: OutboxOwner<number> = {
    keys: queueKeys('test'),
    link: link as RedisLink,
    codec: codecFor('json'),
    clock: realClock,
    clientId: 'json-1',
    ready: Promise.resolve(),
    settings: { name: 'test', maxBacklog: 10, maxQueueSize: 10, clientTtlMs: 60_000 },
    expectAnswer: () => order.push('expect'),
    readAnswers: () => order.push('read'),
    expectNoAnswer: () => {},
    wasForgotten: () => {},
    cancel: () => {},
  };
  return { outbox: new Outbox(owner), order };
}

// Root cause: the read for the answers was written first, and a caller who is alone waited for that write as well.
test('the submission is handed over before the read for its answers', async () => {
  const { outbox, order } = outboxTo('1 0 0 - 1-0 -');
  outbox.add([new Outgoing(1, 2, Number.POSITIVE_INFINITY)]);
  await outbox.whenStill();
  expect(order).toEqual(['expect', 'submit', 'read']);
  // Nothing is to be waited for by now: it is on its way before anything else happens.
  outbox.add([new Outgoing(2, 2, Number.POSITIVE_INFINITY)]);
  expect(order.slice(3)).toEqual(['expect', 'submit', 'read']);
  await outbox.whenStill();
});

// Root cause: an item without an id counted as on its way, and its caller waited for ever.
test.each([1, 'OK', '', '1 0 0', '1 0 0 - x -'])(
  'a malformed reply to a submission fails it: %j',
  async (reply) => {
    const { outbox } = outboxTo(reply);
    const outgoing = new Outgoing(1, 2, Number.POSITIVE_INFINITY);
    const results: unknown[] = [];
    const context = {
      answer: (_: number, result: unknown) => results.push(result),
    } as unknown as BatchContext;
    outgoing.join(new OutgoingGroup(1, context, () => {}), 0);
    outbox.add([outgoing]);
    await outbox.whenStill();
    expect(results).toEqual([
      expect.objectContaining({
        code: 'UNAVAILABLE',
        message: expect.stringContaining('expected the reply to a submission'),
      }),
    ]);
  },
);
