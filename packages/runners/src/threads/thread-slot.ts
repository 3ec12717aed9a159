/** A place for one thread. When the thread dies, its batch fails at once, and another thread is started. */
import { Worker } from 'node:worker_threads';
import { type BatchContext, BatchwiseError, type Results, realClock } from 'batchwise';
import type { ErrorCodec } from '../error-data.js';
import type { SentResult, ThreadData, ThreadReply, ThreadRequest } from './thread-messages.js';

/** A compiled file of this folder, also when this file runs uncompiled. */
export function threadFile(name: string): URL {
  const folder = import.meta.url.endsWith('.ts') ? '../../dist/threads/' : './';
  return new URL(folder + name, import.meta.url);
}

/** Before a thread is started after one that died without having served; doubles each time. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

export interface ThreadSlotOwner {
  /** Its thread can take a batch. */
  freed(slot: ThreadSlot): void;
  /** It has no thread at the moment. */
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
  /** Since a thread has served. */
  #deaths = 0;
  #pause: unknown;
  #isClosed = false;

  constructor(owner: ThreadSlotOwner, data: ThreadData, errors: ErrorCodec) {
    this.#owner = owner;
    this.#data = data;
    this.#errors = errors;
  }

  /** Rejects when the first thread cannot load the module; no other is tried then. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      const worker = new Worker(threadFile('thread.js'), { workerData: this.#data, name: 'batchwise' });
      let isReady = false;
      const ended = (error: Error) => {
        if (this.#worker !== worker) return;
        this.#worker = undefined;
        this.#failed(this.#diedError(error));
        if (isReady && !this.#isClosed) this.#restart(error);
        if (!isReady) reject(this.#diedError(error));
      };
      worker.on('message', (reply: ThreadReply) => {
        if (reply.kind === 'unusable') {
          ended(this.#errors.fromData(reply.error));
          void worker.terminate();
          return;
        }
        if (reply.kind !== 'ready') {
          this.#heard(reply);
          return;
        }
        isReady = true;
        resolve();
        this.#owner.freed(this);
      });
      worker.on('error', ended);
      worker.on('messageerror', ended);
      worker.on('exit', (code) => ended(new Error(`it ended with exit code ${code}`)));
      this.#worker = worker;
      this.#end = ended;
    });
  }

  /**
   * A batch whose callers are gone is let finish in the time that a batch has: a new thread costs more. After that the
   * thread is ended, which stops a function that computes.
   */
  async run(items: unknown[], context: BatchContext, timeoutMs: number): Promise<Results<unknown>> {
    const startedAt = realClock.now();
    const { signal } = context;
    let timer: unknown;
    const onAbort = () => {
      this.#send({ kind: 'abort', reason: this.#errors.toData(signal.reason) });
      const leftMs = Math.max(0, startedAt + timeoutMs - realClock.now());
      if (leftMs !== Number.POSITIVE_INFINITY) {
        timer = realClock.setTimer(
          () => this.#kill(new Error(`a batch took longer than ${timeoutMs} ms`)),
          leftMs,
        );
      }
    };
    try {
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
        this.#failed(this.#diedError(new Error('it ended before it got the batch')));
      else this.#send({ kind: 'run', items, context: sent });
    } catch (error) {
      const message = `${this.#data.name}: items for a thread must be plain data: ${(error as Error).message}`;
      this.#failed(new BatchwiseError('INVALID_ITEM', message, { cause: error }));
    }
  }

  /** An error that is not the function's own: each item gets it as it is. */
  #failed(error: BatchwiseError): void {
    const run = this.#settled();
    run?.resolve(Array.from({ length: run.context.size }, () => error));
  }

  async close(error: Error): Promise<void> {
    this.#isClosed = true;
    realClock.clearTimer(this.#pause);
    await this.#kill(error);
  }

  #heard(reply: Exclude<ThreadReply, { kind: 'ready' | 'unusable' }>): void {
    if (reply.kind === 'answer') {
      this.#run?.context.answer(reply.index, this.#received(reply));
      return;
    }
    this.#deaths = 0;
    const run = this.#settled();
    if (reply.kind === 'failure') run?.reject(this.#errors.fromData(reply.error));
    else if (reply.kind === 'answered') run?.resolve(run.context.answered);
    // The batcher tells what is wrong with results that are none.
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
    const pauseMs = this.#deaths === 0 ? 0 : Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#deaths);
    this.#deaths += 1;
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

  #diedError(cause: Error): BatchwiseError {
    if (cause instanceof BatchwiseError) return cause;
    const message = `${this.#data.name}: the thread of the handler died: ${cause.message}`;
    return new BatchwiseError('UNAVAILABLE', message, { cause });
  }
}
