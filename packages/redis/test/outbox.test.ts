/** How items go out. */
import { realClock } from 'batchwise';
import { expect, test } from 'vitest';
import { codecFor } from '../src/codec.js';
import type { RedisLink } from '../src/connection/link.js';
import { Outbox, type OutboxOwner } from '../src/outbox.js';
import { Outgoing } from '../src/outgoing.js';
import { queueKeys } from '../src/queue-keys.js';

// Root cause: the read for the answers was written first, and a caller who is alone waited for that write as well.
test('the submission is handed over before the read for its answers', async () => {
  const order: string[] = [];
  const link: Partial<RedisLink> = {
    isUp: true,
    onUp: () => {},
    onDown: () => {},
    run: async () => {
      order.push('submit');
      return '1 0 0 - 1-0 -';
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
  const outbox = new Outbox(owner);
  outbox.add([new Outgoing(1, 2, Number.POSITIVE_INFINITY)]);
  await outbox.whenStill();
  expect(order).toEqual(['expect', 'submit', 'read']);
  // Nothing is to be waited for by now: it is on its way before anything else happens.
  outbox.add([new Outgoing(2, 2, Number.POSITIVE_INFINITY)]);
  expect(order.slice(3)).toEqual(['expect', 'submit', 'read']);
  await outbox.whenStill();
});
