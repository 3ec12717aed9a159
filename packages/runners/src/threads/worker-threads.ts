/**
 * Runs a handler on worker threads, one thread per concurrent batch. Each thread imports the module with the handler;
 * items and results are copied (structured clone). When a thread ends unexpectedly, its batch fails and the thread is
 * replaced.
 */
import { type BatchContext, BatchwiseError, type Results } from 'batchwise';
import type { ErrorCodec } from '../error-data.js';
import type { FunctionBackend } from '../function-runner.js';
import type { RunnerSettings } from '../runner-settings.js';
import type { ThreadData } from './thread-messages.js';
import { ThreadSlot } from './thread-slot.js';

export interface WorkerThreadsOptions extends ThreadData {
  /** The same codec as in the module. */
  readonly errors: ErrorCodec;
  readonly threads: number;
  /** How long a batch without callers may run, measured from its start. */
  readonly timeoutMs: number;
  log(line: string): void;
}

export class WorkerThreads implements FunctionBackend {
  readonly platform = 'function';
  readonly availability = { outage: undefined, onChange: () => () => {} };
  readonly #name: string;
  readonly #slots: readonly ThreadSlot[];
  readonly #idle: ThreadSlot[] = [];
  readonly #queue = new Set<(slot: ThreadSlot) => void>();
  #timeoutMs: number;

  constructor({ module, data, name, errors, threads, timeoutMs, log }: WorkerThreadsOptions) {
    this.#name = name;
    this.#timeoutMs = timeoutMs;
    const owner = {
      freed: (slot: ThreadSlot) => this.#freed(slot),
      lost: (slot: ThreadSlot, error: Error) => {
        const index = this.#idle.indexOf(slot);
        if (index !== -1) this.#idle.splice(index, 1);
        log(`${name}: a worker thread ended: ${error.message}; a new one is started.`);
      },
    };
    this.#slots = Array.from(
      { length: threads },
      () => new ThreadSlot(owner, { module, data, name }, errors),
    );
  }

  async load(): Promise<void> {
    try {
      await Promise.all(this.#slots.map((slot) => slot.start()));
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  configure({ timeoutMs }: Pick<RunnerSettings, 'timeoutMs'>): void {
    this.#timeoutMs = timeoutMs;
  }

  readonly handler = async (items: unknown[], context: BatchContext): Promise<Results<unknown>> => {
    const slot = this.#idle.shift() ?? (await this.#nextIdle(context.signal));
    return slot.run(items, context, this.#timeoutMs);
  };

  async close(): Promise<void> {
    const closed = new BatchwiseError('CLOSED', `${this.#name}: the worker threads are closed.`);
    await Promise.all(this.#slots.map((slot) => slot.close(closed)));
  }

  #nextIdle(signal: AbortSignal): Promise<ThreadSlot> {
    return new Promise((resolve, reject) => {
      const take = (slot: ThreadSlot) => {
        signal.removeEventListener('abort', onAbort);
        resolve(slot);
      };
      const onAbort = () => {
        this.#queue.delete(take);
        reject(signal.reason);
      };
      this.#queue.add(take);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #freed(slot: ThreadSlot): void {
    const [next] = this.#queue;
    if (next === undefined) {
      this.#idle.push(slot);
      return;
    }
    this.#queue.delete(next);
    next(slot);
  }
}
