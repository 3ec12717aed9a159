/**
 * The scenarios of the browser test. Each is a function that runs in the page and returns plain data; the
 * expectations are in browser.test.ts.
 */
import { Batcher, type BatcherOptions, type BatchRecord, BatchwiseError, onBatch, window } from 'batchwise';

/** Whether globals of Node exist in the page. */
export function nodeGlobals() {
  const { process, setImmediate } = globalThis as { process?: unknown; setImmediate?: unknown };
  return { process: typeof process, setImmediate: typeof setImmediate };
}

export async function thousandCallers(maxBatchSize: number) {
  const sizes: number[] = [];
  const batcher = new Batcher(
    async (items: number[]) => {
      sizes.push(items.length);
      return items.map((item) => `answer ${item}`);
    },
    { maxBatchSize },
  );
  const answers = await Promise.all(Array.from({ length: 1000 }, (_, item) => batcher.submit(item)));
  return { answers, sizes };
}

/** Aborts the second of three running items, and the first of two queued ones. */
export async function abortedCallers() {
  const gate = gated();
  const batcher = new Batcher(gate.handler, { maxBatchSize: 3 });
  const whileRunning = new AbortController();
  const whileQueued = new AbortController();

  const first = batcher.submit('a');
  const running = outcome(batcher.submit('b', { signal: whileRunning.signal }));
  const third = batcher.submit('c');
  await gate.entered;
  const queued = outcome(batcher.submit('d', { signal: whileQueued.signal }));
  const last = batcher.submit('e');

  whileRunning.abort();
  whileQueued.abort(new Error('changed my mind'));
  const aborted = await Promise.all([running, queued]);
  const { queued: stillQueued, running: stillRunning } = batcher.stats();

  gate.open();
  const neighbours = await Promise.all([first, third, last]);
  return { aborted, stillQueued, stillRunning, neighbours, batches: gate.batches };
}

/** Without `node:diagnostics_channel`, the library has its own channel for listeners. */
export async function reportedBatches() {
  const reported: Pick<BatchRecord, 'name' | 'size' | 'cost' | 'reason' | 'succeeded' | 'failed'>[] = [];
  const stopListening = onBatch(({ name, size, cost, reason, succeeded, failed }) => {
    reported.push({ name, size, cost, reason, succeeded, failed });
  });
  const batcher = new Batcher(async (items: number[]) => items, { name: 'reported', maxBatchSize: 4 });
  await Promise.all(Array.from({ length: 10 }, (_, item) => batcher.submit(item)));
  stopListening();
  await batcher.submit(10);
  return { reported, batches: batcher.stats().batches };
}

export async function windowBatch(maxWaitMs: number) {
  const records: BatchRecord[] = [];
  const stopListening = onBatch((record) => records.push(record));
  const batcher = new Batcher(async (items: number[]) => items, { policy: window({ maxWaitMs }) });
  const answers = await Promise.all([batcher.submit(1), batcher.submit(2)]);
  stopListening();
  return { answers, batches: records.map(({ size, reason, waitsMs }) => ({ size, reason, waitsMs })) };
}

export async function closing() {
  const gate = gated();
  const batcher = new Batcher(gate.handler, { maxBatchSize: 2 });
  const accepted = ['a', 'b', 'c', 'd', 'e'].map((item) => outcome(batcher.submit(item)));
  await gate.entered;
  let closed = false;
  const close = batcher.close().then(() => {
    closed = true;
  });
  const late = await outcome(batcher.submit('late'));
  const closedBeforeTheLastBatch = closed;
  gate.open();
  await close;
  const { queued, running, state } = batcher.stats();
  return { accepted: await Promise.all(accepted), late, closedBeforeTheLastBatch, queued, running, state };
}

export async function itemErrors() {
  const odd = new RangeError('odd');
  const batcher = new Batcher(async (items: number[]) => items.map((item) => (item % 2 ? odd : item)));
  const settled = await Promise.allSettled([0, 1, 2, 3].map((item) => batcher.submit(item)));
  return settled.map((one) =>
    one.status === 'fulfilled' ? one.value : one.reason === odd && 'its own error',
  );
}

/** Each error code of the library, from one call. */
export async function errorCodes() {
  const crash = new Error('out of memory');
  const never = () => new Promise<never>(() => {});
  return {
    thrown: await failure(() => Promise.reject(crash)),
    keepsCause: await new Batcher(() => Promise.reject(crash))
      .submit(1)
      .catch((error) => error.cause === crash),
    tooFewResults: await failure(async () => []),
    hungHandler: await failure(never, { handlerTimeoutMs: 5 }),
    late: await failure(never, { timeoutMs: 5 }),
    fullQueue: await fullQueue(never),
    badOption: await outcome((async () => new Batcher(never, { maxBatchSize: 0 }))()),
  };
}

/** A worker has no `window` and does not use the import map of the page. */
export function inWorker(): Promise<unknown> {
  const { Worker } = globalThis as unknown as { Worker: new (url: string, options: object) => WorkerLike };
  return new Promise((resolve, reject) => {
    const worker = new Worker('/worker.js', { type: 'module' });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(`The worker failed: ${message}`));
  });
}

interface WorkerLike {
  onmessage: (event: { data: unknown }) => void;
  onerror: (event: { message: string }) => void;
}

type Handled = (items: number[]) => Promise<number[]>;

function failure(handler: Handled, options: BatcherOptions<number> = {}) {
  return outcome(new Batcher(handler, options).submit(1));
}

/** One item runs, one is queued, and the third is rejected. */
function fullQueue(never: Handled) {
  const batcher = new Batcher(never, { maxQueueSize: 1 });
  void batcher.submit(1);
  void batcher.submit(2);
  return outcome(batcher.submit(3));
}

/** The result of a call, or the code of its error. */
function outcome(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: unknown) =>
    error instanceof BatchwiseError ? error.code : `another error: ${error}`,
  );
}

/** A handler whose batches stay pending until the gate is opened. */
function gated() {
  let open = () => {};
  let enter = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  const batches: string[][] = [];
  const handler = async (items: string[]) => {
    batches.push(items);
    enter();
    await opened;
    return items.map((item) => item.toUpperCase());
  };
  return { handler, batches, entered, open };
}
