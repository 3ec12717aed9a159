/**
 * A handler on worker threads, for work that computes and would otherwise block the event loop.
 *
 *     const model = workerPool(new URL('./model.js', import.meta.url), { threads: 2 });
 *     const classify = new Batcher(model, { concurrency: model.threads });
 *     …
 *     await classify.close();
 *     await model.close();
 */
import { availableParallelism } from 'node:os';
import { pathToFileURL } from 'node:url';
import { type BatchContext, BatchwiseError, type HandlerObject, type Results } from 'batchwise';
import { errorCodec } from '../error-data.js';
import { shownValue } from '../open-inference/shown-value.js';
import type { ModuleData } from './module-handler.js';
import { threadFile } from './thread-slot.js';
import { WorkerThreads } from './worker-threads.js';

export interface WorkerPoolOptions {
  /**
   * Each runs one batch at a time: give the batcher the same `concurrency`.
   * @default the number of cores
   */
  readonly threads?: number | undefined;
  /**
   * The export of the module that is the handler.
   * @default 'handler', or the default export
   */
  readonly export?: string | undefined;
}

const MAX_THREADS = 1024;
/**
 * The maximum total run time of a batch without callers. After that its thread is terminated and replaced, which
 * stops the computation.
 */
const MAX_ABANDONED_MS = 10_000;

export class WorkerPool<I, R> implements HandlerObject<I, R> {
  readonly threads: number;
  /** Rejects if the module cannot be loaded or exports no handler. Batches wait for it. */
  readonly ready: Promise<void>;
  readonly #pool: WorkerThreads;

  constructor(file: string | URL, options: WorkerPoolOptions = {}) {
    const { threads = availableParallelism(), export: exportName, ...unknown } = options;
    const url =
      file instanceof URL ? file : typeof file === 'string' && file !== '' ? urlOf(file) : undefined;
    if (url?.protocol !== 'file:') throw expected('file', 'a path or a file: URL', file);
    if (!Number.isInteger(threads) || threads < 1 || threads > MAX_THREADS) {
      throw expected('threads', `a whole number from 1 to ${MAX_THREADS}`, threads);
    }
    if (exportName !== undefined && typeof exportName !== 'string') {
      throw expected('export', 'the name of an export', exportName);
    }
    const [wrong] = Object.keys(unknown);
    if (wrong !== undefined) throw expected('options', 'threads or export', wrong);

    this.threads = threads;
    const data: ModuleData = { url: url.href, exportName };
    this.#pool = new WorkerThreads({
      module: threadFile('module-handler.js').href,
      data,
      name: `workerPool(${file})`,
      errors: errorCodec(),
      threads,
      timeoutMs: MAX_ABANDONED_MS,
      log: (line) => console.error(line),
    });
    this.ready = this.#pool.load();
    // Batches reject with the same error.
    this.ready.catch(() => {});
  }

  async processBatch(items: I[], context: BatchContext): Promise<Results<R>> {
    await this.ready;
    return this.#pool.handler(items, context) as Promise<Results<R>>;
  }

  /** Ends the threads; batches that still run fail with `CLOSED`. Close the batcher first. */
  close(): Promise<void> {
    return this.#pool.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * @param file a module, relative to the current folder, or a `file:` URL. It exports a function
 * `(items, context) => results`. Items and results are copied to and from the thread (structured clone).
 */
export function workerPool<I = unknown, R = unknown>(
  file: string | URL,
  options: WorkerPoolOptions = {},
): WorkerPool<I, R> {
  return new WorkerPool(file, options);
}

function urlOf(file: string): URL {
  return file.startsWith('file:') ? new URL(file) : pathToFileURL(file);
}

function expected(name: string, what: string, given: unknown): BatchwiseError {
  const message = `workerPool(file, options): ${name}: expected ${what}, got ${shownValue(given)}.`;
  return new BatchwiseError('INVALID_OPTION', message);
}
