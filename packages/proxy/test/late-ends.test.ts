/** Streams whose answers are all in: their end is waited for, but neither for ever nor for any number of them. */
import type { OutgoingCall } from '@batchwise/grpc';
import { VirtualClock } from 'batchwise';
import { expect, it } from 'vitest';
import { LateEnds } from '../src/late-ends.js';

function watched() {
  const clock = new VirtualClock();
  const lateEnds = new LateEnds(clock);
  const cancelled: number[] = [];
  const expectEnd = (name: number) => {
    const call = { cancel: () => cancelled.push(name) } as unknown as OutgoingCall;
    lateEnds.expect(call);
    return call;
  };
  return { clock, lateEnds, cancelled, expectEnd };
}

it('an end that does not come is not waited for longer than its time', async () => {
  const { clock, lateEnds, cancelled, expectEnd } = watched();
  lateEnds.ended(expectEnd(1));
  expectEnd(2);
  await clock.advance(4999);
  expect(cancelled).toEqual([]);
  await clock.advance(1);
  expect(cancelled).toEqual([2]);
  expect(clock.pendingTimers).toBe(0);
});

// A backend that never ends its streams had as many of them as it could answer in that time.
it('of more than a thousand the oldest is given up', () => {
  const { lateEnds, cancelled, expectEnd } = watched();
  for (let name = 0; name < 1003; name++) expectEnd(name);
  expect(cancelled).toEqual([0, 1, 2]);
  expect(lateEnds.size).toBe(1000);
  lateEnds.stop();
});
