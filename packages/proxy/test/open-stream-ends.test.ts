/** Streams with all answers but without an end: bounded in time and number. */
import type { OutgoingCall } from '@batchwise/grpc';
import { VirtualClock } from 'batchwise';
import { expect, it } from 'vitest';
import { OpenStreamEnds } from '../src/batching/open-stream-ends.js';

function watched() {
  const clock = new VirtualClock();
  const openStreamEnds = new OpenStreamEnds(clock);
  const cancelled: number[] = [];
  const expectEnd = (name: number) => {
    const call = { cancel: () => cancelled.push(name) } as unknown as OutgoingCall;
    openStreamEnds.expect(call);
    return call;
  };
  return { clock, openStreamEnds, cancelled, expectEnd };
}

it('a stream that does not end is reset after a timeout', async () => {
  const { clock, openStreamEnds, cancelled, expectEnd } = watched();
  openStreamEnds.ended(expectEnd(1));
  expectEnd(2);
  await clock.advance(4999);
  expect(cancelled).toEqual([]);
  await clock.advance(1);
  expect(cancelled).toEqual([2]);
  expect(clock.pendingTimers).toBe(0);
});

// Root cause: the number of open streams of a backend that never ends them was limited only by the timeout.
it('above a thousand open streams the oldest is reset', () => {
  const { openStreamEnds, cancelled, expectEnd } = watched();
  for (let name = 0; name < 1003; name++) expectEnd(name);
  expect(cancelled).toEqual([0, 1, 2]);
  expect(openStreamEnds.size).toBe(1000);
  openStreamEnds.stop();
});
