/**
 * Guarantee 8: no memory is kept per item, long queues, and no timer that keeps a process alive. The nightly suite uses
 * ten times as many items as `npm test`.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Batcher, type Policy, type Sink, type Ticket, VirtualClock, window } from 'batchwise';
import { beforeAll, expect, test } from 'vitest';
import { shortOrLong } from '../../../../scripts/test-length.js';

const QUEUED = shortOrLong(100_000, 1_000_000);
const MEGABYTE = 1024 * 1024;
/** The noise of the heap size, independent of the number of items: 0.5 MB was seen. */
const HEAP_NOISE = 1.5 * MEGABYTE;
/** Less than any memory that is kept per item. */
const BYTES_PER_ITEM = 16;

let collectGarbage: () => void;

beforeAll(() => {
  setFlagsFromString('--expose-gc');
  collectGarbage = runInNewContext('gc') as () => void;
});

function heapUsed(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** A seeded generator (mulberry32), because a failure must be reproducible. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const answered = 1;
const failed = 2;

/** One byte per caller for its outcome. A caller that is settled twice has an invalid value. */
class Fates {
  readonly of: Uint8Array;

  constructor(size: number) {
    this.of = new Uint8Array(size);
  }

  sink(index: number): Sink<number> {
    const fates = this.of;
    return {
      resolve: () => {
        fates[index] = (fates[index] ?? 0) + answered;
      },
      reject: () => {
        fates[index] = (fates[index] ?? 0) === 0 ? failed : 99;
      },
    };
  }
}

/** Holds all items until it is released. */
class HoldAll implements Policy {
  readonly name = 'hold all';
  isReleased = false;

  decide(view: { readonly length: number }) {
    if (!this.isReleased) return { action: 'wait', until: Number.POSITIVE_INFINITY } as const;
    return { action: 'dispatch', count: view.length, reason: 'full' } as const;
  }
}

/** A batcher that holds all items until `drain()`, and records the executed items in order. */
function holding(size: number) {
  const clock = new VirtualClock();
  const policy = new HoldAll();
  const executed = new Uint32Array(size);
  let count = 0;
  const batcher = new Batcher(
    (items: number[]) => {
      for (const item of items) executed[count++] = item;
      return items;
    },
    { clock, policy, maxBatchSize: 1024 },
  );
  const drain = async () => {
    policy.isReleased = true;
    batcher.configure({});
    await batcher.close();
    return executed.subarray(0, count);
  };
  return { clock, batcher, fates: new Fates(size), drain };
}

test('the heap does not grow with the items of a batcher', async () => {
  const clock = new VirtualClock();
  const batcher = new Batcher((items: number[]) => items, { clock, maxBatchSize: 256 });
  let sum = 0;
  const add = (result: number) => {
    sum += result;
  };
  const wave = async () => {
    for (let i = 0; i < 10_000; i++) void batcher.submit(1).then(add);
    await clock.advance(1);
  };
  await wave();
  const before = heapUsed();
  const waves = shortOrLong(20, 200);
  for (let i = 0; i < waves; i++) await wave();
  expect(heapUsed() - before).toBeLessThan(HEAP_NOISE + BYTES_PER_ITEM * waves * 10_000);
  expect(sum).toBe((waves + 1) * 10_000);
  expect(batcher.stats()).toMatchObject({ succeeded: sum, queued: 0, running: 0 });
});

test.each([
  ['its own tenant', (i: number) => ({ tenant: `tenant ${i}` })],
  ['its own deadline', (i: number) => ({ timeoutMs: 10_000 + (i % 5000) })],
  ['its own signal', () => ({ signal: new AbortController().signal })],
  ['its own group and its own key', () => undefined],
])('the heap does not grow with items, each with %s', async (what, optionsOf) => {
  const clock = new VirtualClock();
  const keyed = what.includes('key')
    ? { groupOf: (item: number) => item >> 3, dedupeBy: (item: number) => item }
    : {};
  const batcher = new Batcher((items: number[]) => items, { clock, maxBatchSize: 256, ...keyed });
  let next = 0;
  let answers = 0;
  const count = () => {
    answers += 1;
  };
  const wave = async () => {
    for (let i = 0; i < 1000; i++, next++) void batcher.submit(next, optionsOf(next)).then(count);
    await clock.advance(1);
  };
  for (let i = 0; i < 10; i++) await wave();
  const before = heapUsed();
  const waves = shortOrLong(50, 500);
  for (let i = 0; i < waves; i++) await wave();
  expect(heapUsed() - before).toBeLessThan(HEAP_NOISE + BYTES_PER_ITEM * waves * 1000);
  expect(answers).toBe((waves + 10) * 1000);
});

test('a kept ticket keeps no other object alive, whatever the outcome of its call', async () => {
  const clock = new VirtualClock();
  const options = { clock, dedupeBy: ({ key }: { key: number }) => key, maxBatchSize: 100 };
  const batcher = new Batcher((items: { key: number; payload: number[] }[]) => items.map(() => 0), options);
  const tickets: Ticket[] = [];
  const before = heapUsed();
  for (let round = 0; round < 100; round++) {
    // Three callers share each item. The first, the second or all of them cancel for some items.
    for (let i = 0; i < 300; i++) {
      const item = { key: Math.floor(i / 3), payload: new Array<number>(1000).fill(round) };
      tickets.push(batcher.enqueue(item, { resolve: () => {}, reject: () => {} }));
    }
    for (let i = 0; i < 300; i++) if (i % 4 === 0 || i % 30 < 3) tickets.at(i - 300)?.cancel();
    await clock.advance(1);
  }
  // 30,000 items of 8 kB each were queued.
  expect(heapUsed() - before).toBeLessThan(20 * MEGABYTE);
  expect(tickets.every(({ settled }) => settled)).toBe(true);
});

test('a random half of a long queue is cancelled: all items are settled once, the rest in order', async () => {
  const { clock, batcher, fates, drain } = holding(QUEUED);
  const random = randoms(1);
  const tickets = Array.from({ length: QUEUED }, (_, i) => batcher.enqueue(i, fates.sink(i)));
  await clock.advance(0);
  const cancelledItems = new Uint8Array(QUEUED);
  for (let cancelled = 0; cancelled < QUEUED / 2; ) {
    const index = Math.floor(random() * QUEUED);
    if (cancelledItems[index] === 1) continue;
    cancelledItems[index] = 1;
    tickets[index]?.cancel();
    cancelled += 1;
  }
  expect(batcher.stats()).toMatchObject({
    queued: QUEUED / 2,
    queuedCost: QUEUED / 2,
    cancelled: QUEUED / 2,
  });
  const executed = await drain();
  expectInOrder(executed, (index) => cancelledItems[index] === 0, QUEUED);
  expectFates(fates, (index) => (cancelledItems[index] === 1 ? failed : answered));
});

test('many calls with a signal each, a random half of which fires', async () => {
  const size = shortOrLong(10_000, 100_000);
  const { clock, batcher, fates, drain } = holding(size);
  const random = randoms(2);
  const controllers = Array.from({ length: size }, () => new AbortController());
  for (const [i, { signal }] of controllers.entries()) {
    const { resolve, reject } = fates.sink(i);
    batcher.submit(i, { signal }).then(resolve as (result: number) => void, reject);
  }
  await clock.advance(0);
  const cancelledItems = controllers.map(() => random() < 0.5);
  for (const [i, controller] of controllers.entries()) if (cancelledItems[i]) controller.abort();
  const executed = await drain();
  await clock.advance(0);
  expectInOrder(executed, (index) => !cancelledItems[index], size);
  expectFates(fates, (index) => (cancelledItems[index] ? failed : answered));
});

test('many items with random deadlines: expired ones are rejected, the rest are answered in order', async () => {
  const { clock, batcher, fates, drain } = holding(QUEUED);
  const random = randoms(3);
  const timeouts = Uint16Array.from({ length: QUEUED }, () => 1 + Math.floor(random() * 1000));
  for (let i = 0; i < QUEUED; i++) batcher.enqueue(i, fates.sink(i), { timeoutMs: timeouts[i] });
  await clock.advance(500);
  const isLate = (index: number) => (timeouts[index] ?? 0) <= 500;
  const executed = await drain();
  expectInOrder(executed, (index) => !isLate(index), QUEUED);
  expectFates(fates, (index) => (isLate(index) ? failed : answered));
  expect(clock.pendingTimers).toBe(0);
});

function expectInOrder(executed: Uint32Array, isExpected: (index: number) => boolean, size: number): void {
  let position = 0;
  for (let index = 0; index < size; index++) {
    if (!isExpected(index)) continue;
    if (executed[position] !== index) expect([position, executed[position]]).toEqual([position, index]);
    position += 1;
  }
  expect(executed.length).toBe(position);
}

function expectFates(fates: Fates, fateOf: (index: number) => number): void {
  for (const [index, fate] of fates.of.entries()) {
    if (fate !== fateOf(index)) expect([index, fate]).toEqual([index, fateOf(index)]);
  }
}

test('on the real clock a window is held and answered', async () => {
  const sizes: number[] = [];
  const batcher = new Batcher(
    async (items: number[]) => {
      sizes.push(items.length);
      return items;
    },
    { policy: window({ maxWaitMs: 2000 }) },
  );
  const first = batcher.submit(1);
  await new Promise((resolve) => setImmediate(resolve));
  const second = batcher.submit(2);
  expect(await Promise.all([first, second])).toEqual([1, 2]);
  expect(sizes).toEqual([2]);
  expect(batcher.stats().reasons.window).toBe(1);
});

const library = new URL('../../dist/index.js', import.meta.url);

/** Runs a program against the built package; rejects when it fails or does not end by itself. */
async function run(program: string): Promise<string> {
  if (!existsSync(library))
    throw new Error('packages/core is not built: run npx tsc -b packages/core first.');
  const source = `import { Batcher, onBatch, window } from ${JSON.stringify(library.href)};\n${program}`;
  const options = { timeout: 300_000 };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', source],
    options,
  );
  return stdout.trim();
}

test('a process exits when its batchers are idle, closed or not', async () => {
  const output = await run(`
    const options = { handlerTimeoutMs: 600_000, timeoutMs: 600_000, targetLatencyMs: 600_000 };
    const batcher = new Batcher(async (items) => items.map((item) => item * 2), options);
    const held = new Batcher((items) => items, { ...options, policy: window({ maxWaitMs: 600_000 }) });
    const controller = new AbortController();
    const waiting = held.submit(1, { signal: controller.signal }).catch(({ code }) => code);
    console.log(await batcher.submit(21, { timeoutMs: 600_000 }));
    controller.abort();
    console.log(await waiting);
  `);
  expect(output).toBe('42\nCANCELLED');
});

test('a process does not exit while an item is held in a window', async () => {
  const output = await run(`
    const batcher = new Batcher((items) => items, { policy: window({ maxWaitMs: 50 }) });
    batcher.submit('answered').then(console.log);
  `);
  expect(output).toBe('answered');
});

test('a subscriber that throws causes an uncaught error after all items are answered', async () => {
  const output = await run(`
    process.on('uncaughtException', ({ message }) => console.log('uncaught:', message));
    onBatch(() => { throw new Error('broken subscriber'); });
    const batcher = new Batcher(async (items) => items);
    console.log(await Promise.all([1, 2].map((item) => batcher.submit(item))));
    console.log(await batcher.submit(3));
  `);
  expect(output.split('\n').sort()).toEqual(
    ['3', '[ 1, 2 ]', 'uncaught: broken subscriber', 'uncaught: broken subscriber'].sort(),
  );
});
