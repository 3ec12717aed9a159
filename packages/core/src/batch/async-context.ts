/**
 * The async context in which handlers run, and the batch whose handler calls the current code.
 *
 * A batch belongs to no single request. In the context of the request that happened to start it, its handler would log,
 * trace and authorise in the name of that request, and keep it alive.
 *
 * A handler that submits to its own batcher may wait for itself; to detect that, the calling batch must be known.
 * Until the handler first awaits, a variable is enough. After that, only an async context tells. Node 24 and
 * newer keep contexts at no cost. Older versions use async hooks, which make every `await` of the process four times
 * as slow while they are on (90 and 400 ns): there, only the first batches of a batcher are watched. A handler that
 * calls its own batcher usually does so from the start.
 */
import type { RunningBatch } from './running-batch.js';

/** How many batches of a batcher are watched where that slows down promises. */
const WATCHED_BATCHES = 32;

interface Storage {
  run<T>(call: Call | undefined, body: () => T): T;
  getStore(): Call | undefined;
  disable(): void;
}

interface AsyncHooks {
  readonly AsyncLocalStorage: {
    new (): Storage;
    snapshot?(): <A>(call: (argument: A) => void, argument: A) => void;
  };
}

/** One call of a handler. Sockets and timers that the handler makes keep it, so it forgets its batch at the end. */
interface Call {
  batch: RunningBatch | undefined;
}

const { process } = globalThis as {
  process?: { getBuiltinModule?: (id: string) => unknown; versions?: { node?: string } };
};

/** A module of Node; undefined elsewhere. Not an import: bundlers for the browser would fail. */
export function nodeModule<M>(id: string): M | undefined {
  return process?.getBuiltinModule?.(id) as M | undefined;
}

const hooks = nodeModule<AsyncHooks>('node:async_hooks');
const storage = hooks && new hooks.AsyncLocalStorage();
const contextsAreCheap = Number.parseInt(process?.versions?.node ?? '', 10) >= 24;

/** Calls a function in the async context that was current when this module was loaded. */
export const inOwnContext: <A>(call: (argument: A) => void, argument: A) => void =
  hooks?.AsyncLocalStorage.snapshot?.() ?? ((call, argument) => call(argument));

let calling: Call | undefined;
/** Calls that have not ended and need async hooks. */
let watched = 0;

/** The batch whose handler calls the current code, as far as that is known. */
export function callingBatch(): RunningBatch | undefined {
  return (calling ?? storage?.getStore())?.batch;
}

/** Calls the handler of a batch. `end` must be called when its outcome is known. */
export function callHandler<T>(batch: RunningBatch, body: () => T): { readonly result: T; end(): void } {
  const call: Call = { batch };
  const isWatched = batch.mayDeadlock && (contextsAreCheap || batch.number <= WATCHED_BATCHES);
  if (isWatched && !contextsAreCheap) watched += 1;
  const end = (): void => {
    if (call.batch === undefined) return;
    call.batch = undefined;
    if (isWatched && !contextsAreCheap && --watched === 0) storage?.disable();
  };
  try {
    return { result: callAs(call, isWatched, body), end };
  } catch (thrown) {
    end();
    throw thrown;
  }
}

/** Calls a function that belongs to no handler, from within one. */
export function callOutsideHandler(body: () => void): void {
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
