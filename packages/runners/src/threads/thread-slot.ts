/**
 * A slot for one worker thread. When the thread ends unexpectedly, its batch fails immediately and a new thread is
 * started.
 */
import { Worker } from 'node:worker_threads';
import { type BatchContext, BatchwiseError, type Results, realClock } from 'batchwise';
import type { ErrorCodec } from '../error-data.js';
import type { SentResult, ThreadData, ThreadReply, ThreadRequest } from './thread-messages.js';

/** The URL of a compiled file of this folder, also when this file runs uncompiled. */
export function threadFile(name: string): URL {
  const folder = import.meta.url.endsWith('.ts') ? '../../dist/threads/' : './';
  return new URL(folder + name, import.meta.url);
}

/** The delay before a restart if the previous thread ended without completing a batch. Doubles each time. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;

export interface ThreadSlotOwner {
  /** The slot can take a batch. */
  freed(slot: ThreadSlot): void;
  /** The slot has no thread until the restart. */
  lost(slot: ThreadSlot, error: Error): void;
}

interface Run {
  readonly context: BatchContext;
  resolve(results: Results<unknown>): void;
  reject(error: Error): void;
}

export class ThreadSlot {
  readonly #owner: ThreadSlotOwner;
  readonly #data: ThreadData;
  readonly #errors: ErrorCodec;
  #worker: Worker | undefined;
  #end: (error: Error) => void = () => {};
  #run: Run | undefined;
  /** Threads that ended since the last completed batch. */
  #failures = 0;
  #pause: unknown;
  #isClosed = false;

  constructor(owner: ThreadSlotOwner, data: ThreadData, errors: ErrorCodec) {
    this.#owner = owner;
    this.#data = data;
    this.#errors = errors;
  }

  /** Rejects if the first thread cannot load the module. No restart is attempted then. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      const worker = new Worker(threadFile('thread.js'), { workerData: this.#data, name: 'batchwise' });
      let isReady = false;
      const ended = (error: Error) => {
        if (this.#worker !== worker) return;
        this.#worker = undefined;
        this.#failed(this.#endedError(error));
        if (isReady && !this.#isClosed) this.#restart(error);
        if (!isReady) reject(this.#endedError(error));
      };
      worker.on('message', (reply: ThreadReply) => {
        if (reply.kind === 'unusable') {
          ended(this.#errors.fromData(reply.error));
          void worker.terminate();
          return;
        }
        if (reply.kind !== 'ready') {
          this.#onReply(reply);
          return;
        }
        isReady = true;
        resolve();
        this.#owner.freed(this);
      });
      worker.on('error', ended);
      worker.on('messageerror', ended);
      worker.on('exit', (code) => ended(new Error(`exit code ${code}`)));
      this.#worker = worker;
      this.#end = ended;
    });
  }

  /**
   * A batch without callers may finish within `timeoutMs`, because a new thread costs more. After that, or at the
   * `handlerTimeoutMs` of the batcher, the thread is terminated, which stops a computing handler.
   */
  async run(items: unknown[], context: BatchContext, timeoutMs: number): Promise<Results<unknown>> {
    const startedAt = realClock.now();
    const { signal } = context;
    let timer: unknown;
    const onAbort = () => {
      this.#send({ kind: 'abort', reason: this.#errors.toData(signal.reason) });
      const isTimeout = signal.reason instanceof BatchwiseError && signal.reason.code === 'HANDLER_TIMEOUT';
      const leftMs = isTimeout ? 0 : Math.max(0, startedAt + timeoutMs - realClock.now());
      if (leftMs !== Number.POSITIVE_INFINITY) {
        const error = isTimeout ? signal.reason : new Error(`a batch took longer than ${timeoutMs} ms`);
        timer = realClock.setTimer(() => this.#kill(error), leftMs);
      }
    };
    try {
      signal.throwIfAborted(); // an aborted signal emits no event
      return await new Promise((resolve, reject) => {
        this.#run = { context, resolve, reject };
        signal.addEventListener('abort', onAbort, { once: true });
        context.onGone((index) => this.#send({ kind: 'gone', index }));
        this.#begin(items, context);
      });
    } finally {
      signal.removeEventListener('abort', onAbort);
      realClock.clearTimer(timer);
      this.#run = undefined;
      if (this.#worker !== undefined) this.#owner.freed(this);
    }
  }

  #begin(items: unknown[], context: BatchContext): void {
    const { name, size, cost, paddedCost, reason, oldestWaitMs, group } = context;
    const sent = { name, size, cost, paddedCost, reason, oldestWaitMs, group };
    try {
      if (this.#worker === undefined)
        this.#failed(this.#endedError(new Error('it ended before it received the batch')));
      else this.#send({ kind: 'run', items, context: sent });
    } catch (error) {
      const message = `${this.#data.name}: items for a thread must be plain data: ${(error as Error).message}`;
      this.#failed(new BatchwiseError('INVALID_ITEM', message, { cause: error }));
    }
  }

  /** Every item of the batch gets this error, because the handler did not cause it. */
  #failed(error: BatchwiseError): void {
    const run = this.#settled();
    run?.resolve(Array.from({ length: run.context.size }, () => error));
  }

  async close(error: Error): Promise<void> {
    this.#isClosed = true;
    realClock.clearTimer(this.#pause);
    await this.#kill(error);
  }

  #onReply(reply: Exclude<ThreadReply, { kind: 'ready' | 'unusable' }>): void {
    if (reply.kind === 'answer') {
      this.#run?.context.answer(reply.index, this.#received(reply));
      return;
    }
    this.#failures = 0;
    const run = this.#settled();
    if (reply.kind === 'failure') run?.reject(this.#errors.fromData(reply.error));
    else if (reply.kind === 'answered') run?.resolve(run.context.answered);
    // The batcher reports invalid results.
    else
      run?.resolve(
        reply.results?.map((sent) => this.#received(sent)) ?? (undefined as unknown as Results<unknown>),
      );
  }

  #settled(): Run | undefined {
    const run = this.#run;
    this.#run = undefined;
    return run;
  }

  async #kill(error: Error): Promise<void> {
    const worker = this.#worker;
    this.#end(error);
    await worker?.terminate();
  }

  #restart(error: Error): void {
    const pauseMs = this.#failures === 0 ? 0 : Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#pause = realClock.setTimer(() => {
      this.start().catch((failure: Error) => {
        if (!this.#isClosed) this.#restart(failure);
      });
    }, pauseMs);
    this.#owner.lost(this, error);
  }

  #send(message: ThreadRequest): void {
    this.#worker?.postMessage(message);
  }

  #received(sent: SentResult): unknown {
    return 'error' in sent ? this.#errors.fromData(sent.error) : sent.result;
  }

  #endedError(cause: Error): BatchwiseError {
    if (cause instanceof BatchwiseError) return cause;
    const message = `${this.#data.name}: the thread of the handler ended: ${cause.message}`;
    return new BatchwiseError('UNAVAILABLE', message, { cause });
  }
}
