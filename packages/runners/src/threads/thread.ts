/** The code of a pool thread: imports the module with the handler and runs one batch at a time. */
import { parentPort, workerData } from 'node:worker_threads';
import { type BatchContext, BatchwiseError, type Results } from 'batchwise';
import type { HandlerModule, ThreadData, ThreadReply, ThreadRequest } from './thread-messages.js';

if (parentPort === null) throw new Error('thread.js is started by WorkerThreads, not by hand.');
const port = parentPort;
const { module, data, name } = workerData as ThreadData;
/** Compared by identity, as in the batcher. */
const ANSWERED: Results<never> = Object.freeze([]);

let batch = new AbortController();
let onGone: ((index: number) => void) | undefined;

// An unhandled rejection is a bug in the handler's module, but the thread remains usable.
process.on('unhandledRejection', (reason) => console.error(`${name}: unhandled rejection:`, reason));
const { createHandler, errors } = (await import(module)) as HandlerModule<unknown>;
const handler = await createHandler(data).catch((error: unknown) => {
  reply({ kind: 'unusable', error: errors.toData(error) });
  return undefined;
});
if (handler !== undefined) {
  port.on('message', (message: ThreadRequest) => {
    if (message.kind === 'run') void run(message);
    else if (message.kind === 'abort') batch.abort(errors.fromData(message.reason));
    else onGone?.(message.index);
  });
  reply({ kind: 'ready' });
}

async function run({ items, context }: Extract<ThreadRequest, { kind: 'run' }>): Promise<void> {
  batch = new AbortController();
  onGone = undefined;
  const whole: BatchContext = {
    ...context,
    signal: batch.signal,
    answer: (index, result) => reply({ kind: 'answer', index, ...sent(result) }),
    onGone: (listener) => {
      onGone = listener;
    },
    answered: ANSWERED,
  };
  try {
    const results: unknown = await handler?.(items, whole);
    if (results === ANSWERED) reply({ kind: 'answered' });
    else reply({ kind: 'results', results: isList(results) ? Array.from(results, sent) : undefined });
  } catch (error) {
    // The stack trace is not sent to the owner of the thread.
    if (!(error instanceof BatchwiseError)) console.error(`${name}:`, error);
    reply({ kind: 'failure', error: errors.toData(error) });
  }
}

/** For other values the batcher reports what it expected. */
function isList(results: unknown): results is ArrayLike<unknown> {
  return Array.isArray(results) || (ArrayBuffer.isView(results) && !(results instanceof DataView));
}

function sent(result: unknown) {
  return result instanceof Error ? { error: errors.toData(result) } : { result };
}

function reply(message: ThreadReply): void {
  port.postMessage(message);
}
