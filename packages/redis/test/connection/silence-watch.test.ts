import { VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import { blockingMs, SilenceWatch, shortened } from '../../src/connection/silence-watch.js';

function watch() {
  const clock = new VirtualClock();
  const errors: string[] = [];
  return { clock, errors, watch: new SilenceWatch(clock, 10_000, ({ message }) => errors.push(message)) };
}

test('a command without a reply for 10 s means that the connection is dead', async () => {
  const { clock, errors, watch: it } = watch();
  it.sent(0);
  await clock.advance(9_999);
  expect(errors).toEqual([]);
  await clock.advance(501);
  expect(errors).toEqual(['no reply within 10 s']);
});

// Root cause: the second look came 500 ms after the first, however short the time-out: 600 ms for one of 100 ms.
test('a short time-out is exceeded by no more than a tenth', async () => {
  const clock = new VirtualClock();
  const errors: string[] = [];
  new SilenceWatch(clock, 100, ({ message }) => errors.push(message)).sent(0);
  await clock.advance(99);
  expect(errors).toEqual([]);
  await clock.advance(11);
  expect(errors).toEqual(['no reply within 0.1 s']);
});

test('each reply is a sign of life for the others', async () => {
  const { clock, errors, watch: it } = watch();
  for (let i = 0; i < 5; i++) it.sent(0);
  for (let i = 0; i < 5; i++) {
    await clock.advance(9_000);
    it.answered();
  }
  await clock.advance(60_000);
  expect(errors).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});

test('a read that blocks may take as long as it says, and one without end for ever', async () => {
  const { clock, errors, watch: it } = watch();
  it.sent(5_000);
  await clock.advance(9_000);
  expect(errors).toEqual([]);
  it.answered();
  it.sent(20_000);
  await clock.advance(24_000);
  expect(errors).toEqual([]);
  it.answered();
  it.sent(Number.POSITIVE_INFINITY);
  await clock.advance(1_000_000);
  expect(errors).toEqual([]);
  it.answered();
  it.sent(0);
  await clock.advance(10_500);
  expect(errors).toEqual(['no reply within 10 s']);
});

test('replies that lay unread while this process stood still are read before it is given up', async () => {
  const { clock, errors, watch: it } = watch();
  it.sent(0);
  // The timer is long overdue when the process goes on, and the replies come right behind it.
  await clock.advance(10_100);
  it.answered();
  it.sent(0);
  await clock.advance(5_000);
  expect(errors).toEqual([]);
});

test('one timer a connection, and none after the end', async () => {
  const { clock, errors, watch: it } = watch();
  for (let i = 0; i < 100; i++) it.sent(i);
  expect(clock.pendingTimers).toBe(1);
  it.stop();
  expect(clock.pendingTimers).toBe(0);
  await clock.advance(100_000);
  expect(errors).toEqual([]);
});

test.each([
  [['XREAD', 'COUNT', '10', 'BLOCK', '500', 'STREAMS', 's', '$'], 500],
  [['xreadgroup', 'group', 'g', 'c', 'block', '0', 'streams', 's', '>'], Number.POSITIVE_INFINITY],
  [['XREADGROUP', 'GROUP', 'block', '7', 'COUNT', '1', 'STREAMS', 's', '>'], 0],
  [['XREAD', 'STREAMS', 'BLOCK', '9'], 0],
  [['GET', 'BLOCK', '9'], 0],
])('%j may block for %d ms', (command, ms) => {
  expect(blockingMs(command)).toBe(ms);
});

test.each([
  [['XREAD', 'COUNT', '10', 'BLOCK', '500', 'STREAMS', 's', '$'], '200'],
  [['xreadgroup', 'group', 'g', 'c', 'block', '0', 'streams', 's', '>'], '0'],
  [['XREAD', 'BLOCK', '100', 'STREAMS', 's', '$'], '100'],
])('%j is made to block for %s ms', (command, ms) => {
  const at = command.findIndex((word) => /^block$/i.test(word)) + 1;
  expect(shortened(command, 200)).toEqual(command.toSpliced(at, 1, ms));
  expect(shortened(['GET', 'BLOCK', '900'], 200)).toEqual(['GET', 'BLOCK', '900']);
});
