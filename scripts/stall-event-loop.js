/**
 * Blocks the event loop of the process or thread that imports it, at random moments and for random times, as a busy
 * machine does. `npm run stalls` puts it into NODE_OPTIONS, so that child processes and threads are stalled as well.
 */
import { threadId } from 'node:worker_threads';

const MAX_GAP_MS = 600;
const MIN_STALL_MS = 20;
const MAX_STALL_MS = 400;

// Taken before a test can replace them by a fake clock's.
const { setTimeout, setImmediate } = globalThis;
const cell = new Int32Array(new SharedArrayBuffer(4));
// Processes of one run differ in what they run, not only in their number.
let state = hash(`${process.env.STALL_SEED ?? '1'} ${process.argv.join(' ')} ${threadId}`);

stallLater();

function stallLater() {
  // Before I/O is polled, or after it: what is overtaken by the stall differs.
  const soon = random() < 0.5 ? setImmediate : (/** @type {() => void} */ callback) => callback();
  setTimeout(() => soon(stall), random() * MAX_GAP_MS).unref();
}

function stall() {
  // Sleeps: the other processes have the processor meanwhile, and are ahead afterwards.
  Atomics.wait(cell, 0, 0, MIN_STALL_MS + random() * (MAX_STALL_MS - MIN_STALL_MS));
  stallLater();
}

/** From 0 to 1, without Math.random(), which tests may replace. Mulberry32. */
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

/** @param {string} text FNV-1a. */
function hash(text) {
  let value = 0x811c9dc5;
  for (const character of text) value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return value;
}
