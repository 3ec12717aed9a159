/** How answers go out. */
import { VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { AnswerBox, type AnswerOwner } from '../src/answer-box.js';
import { codecFor } from '../src/codec.js';
import type { Argument, RedisLink } from '../src/connection/link.js';
import { Delivery } from '../src/delivery.js';
import { HeldItems } from '../src/held-items.js';
import { queueKeys } from '../src/queue-keys.js';

function boxWithLink() {
  const written: Argument[][] = [];
  const clock = new VirtualClock();
  const link: Partial<RedisLink> = {
    onDown: () => {},
    run: async (_script, _keys, args) => {
      written.push(args.filter((arg) => String(arg).startsWith('[')) as Argument[]);
      return [];
    },
  };
  const owner: AnswerOwner<number> = {
    keys: queueKeys('test'),
    link: link as RedisLink,
    codec: codecFor('json'),
    clock,
    consumer: 'me',
    held: new HeldItems(),
    fenced: () => {},
    notTaken: () => {},
  };
  return { box: new AnswerBox(owner), written, clock };
}

function delivery(number: number): Delivery<number> {
  return new Delivery(2, `1-${number}`, `json-1 ${number} 0`, undefined, 1);
}

test('the answers of one turn go out together', async () => {
  const { box, written, clock } = boxWithLink();
  box.add(delivery(1), 'one');
  box.add(delivery(2), 'two');
  expect(written).toEqual([]);
  await clock.settle();
  expect(written).toEqual([['[[1,"one"],[2,"two"]]']]);
});

// Root cause: they waited for the end of the turn, and with them a caller who is alone for all that is learnt from a batch.
test('answers that are all there go out at once, and only once', async () => {
  const { box, written, clock } = boxWithLink();
  box.add(delivery(1), 'one');
  box.add(delivery(2), 'two');
  box.flush();
  expect(written).toEqual([['[[1,"one"],[2,"two"]]']]);
  await clock.settle();
  expect(written).toHaveLength(1);
});
