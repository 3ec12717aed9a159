/**
 * The batch whose handler calls the current code. It shows that a handler submits to its own batcher, which would wait
 * for itself.
 *
 * Until the handler first awaits, a variable is enough. After that, only an async context tells who calls. Node 24 and
 * newer keep contexts at no cost. Older versions use async hooks, which make every `await` of the process four times
 * as slow while they are on (90 and 400 ns): there, only the first batches of a batcher are watched. A handler that
 * calls its own batcher usually does so from the start.
 */
import type { CalledBatch } from './handler-call.js';

/** How many batches of a batcher are watched where that slows down promises. */
const WATCHED_BATCHES = 32;

interface Storage {
  run<T>(call: Call | undefined, body: () => T): T;
  getStore(): Call | undefined;
  disable(): void;
}

/** One call of a handler. Sockets and timers that the handler makes keep it, so it forgets its batch at the end. */
interface Call {
  batch: CalledBatch | undefined;
}

const { storage, isCheap } = asyncContexts();
let calling: Call | undefined;
/** Calls that have not ended and need async hooks. */
let watched = 0;

/** The batch whose handler calls the current code, as far as that is known. */
export function callingBatch(): CalledBatch | undefined {
  return (calling ?? storage?.getStore())?.batch;
}

/** Calls the handler of a batch. `end` is to be called when its outcome is known. */
export function callHandler<T>(batch: CalledBatch, body: () => T): { readonly result: T; end(): void } {
  const call: Call = { batch };
  const isWatched = batch.mayDeadlock && (isCheap || batch.number <= WATCHED_BATCHES);
  if (isWatched && !isCheap) watched += 1;
  const end = (): void => {
    if (call.batch === undefined) return;
    call.batch = undefined;
    if (isWatched && !isCheap && --watched === 0) storage?.disable();
  };
  try {
    return { result: callAs(call, isWatched, body), end };
  } catch (thrown) {
    end();
    throw thrown;
  }
}

/** Calls a function that no handler calls. */
export function callAsNobody(body: () => void): void {
  callAs(undefined, storage?.getStore() !== undefined, body);
}

function callAs<T>(call: Call | undefined, isWatched: boolean, body: () => T): T {
  const before = calling;
  calling = call;
  try {
    return isWatched && storage !== undefined ? storage.run(call, body) : body();
  } finally {
    calling = before;
  }
}

function asyncContexts(): { storage: Storage | undefined; isCheap: boolean } {
  // Not an import: bundlers for the browser would fail.
  const { process } = globalThis as {
    process?: { getBuiltinModule?: (id: string) => unknown; versions?: { node?: string } };
  };
  const hooks = process?.getBuiltinModule?.('node:async_hooks') as
    | { AsyncLocalStorage: new () => Storage }
    | undefined;
  return {
    storage: hooks && new hooks.AsyncLocalStorage(),
    isCheap: Number.parseInt(process?.versions?.node ?? '', 10) >= 24,
  };
}
