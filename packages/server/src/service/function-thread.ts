/** The thread that a function of a service runs on: it loads the module of the service, and runs one batch at a time. */
import { parentPort, workerData } from 'node:worker_threads';
import { type BatchContext, BatchwiseError, type Handler, type Results } from 'batchwise';
import { errorText } from '../error-text.js';
import { fromWireError, toWireError } from '../processes/wire-error.js';
import { surviveRejections } from '../survive-rejections.js';
import type { ThreadData, ThreadReply, ThreadRequest } from './function-messages.js';
import { loadService } from './load-service.js';

if (parentPort === null) throw new Error('function-thread.js is started by FunctionThreads, not by hand.');
const port = parentPort;
const { file, name } = workerData as ThreadData;
/** Known by its identity, as the batcher's own. */
const ANSWERED: Results<never> = Object.freeze([]);

let batch = new AbortController();
let onGone: ((index: number) => void) | undefined;

surviveRejections({ rejectionUnhandled() {} }, (line) => console.error(line));
const declaration = (await loadService(file)).runners.get(name);
if (declaration?.kind !== 'function') throw new Error(`${file} has no function named ${name} any more.`);
// Its types are its author's business.
const handler = declaration.handler as Handler<unknown, unknown>;
port.on('message', (message: ThreadRequest) => {
  if (message.kind === 'run') void run(message);
  else if (message.kind === 'abort') batch.abort(fromWireError(message.reason));
  else onGone?.(message.index);
});
reply({ kind: 'ready' });

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
    const results: unknown = await handler(items, whole);
    if (results === ANSWERED) reply({ kind: 'answered' });
    // What is no array is told by the batcher, which knows what it expects.
    else reply({ kind: 'results', results: Array.isArray(results) ? results.map(sent) : undefined });
  } catch (error) {
    // Stacks do not travel.
    if (!(error instanceof BatchwiseError)) console.error(`${name}: ${errorText(error)}`);
    reply({ kind: 'failure', error: toWireError(error) });
  }
}

function sent(result: unknown) {
  return result instanceof Error ? { error: toWireError(result) } : { result };
}

function reply(message: ThreadReply): void {
  port.postMessage(message);
}
