/**
 * A function of a service on worker threads of its own, one for each batch that may run at a time, so that one that
 * computes for long does not keep the process from answering. The threads load the module of the service themselves;
 * items and results are copied (structured clone).
 */
import type { FunctionBackend, RunnerSettings } from '@batchwise/runners';
import { type BatchContext, BatchwiseError, type Results } from 'batchwise';
import type { ThreadData } from './function-messages.js';
import { FunctionThreadSlot } from './function-thread-slot.js';

export interface FunctionThreadsOptions extends ThreadData {
  readonly settings: Pick<RunnerSettings, 'concurrency' | 'timeoutMs'>;
  log(line: string): void;
}

export class FunctionThreads implements FunctionBackend {
  readonly platform = 'function';
  /** A thread that dies fails its batch and is replaced. */
  readonly availability = { outage: undefined, onChange: () => () => {} };
  readonly #name: string;
  readonly #slots: readonly FunctionThreadSlot[];
  readonly #idle: FunctionThreadSlot[] = [];
  readonly #waiting = new Set<(slot: FunctionThreadSlot) => void>();
  #timeoutMs: number;

  constructor({ file, name, settings, log }: FunctionThreadsOptions) {
    this.#name = name;
    this.#timeoutMs = settings.timeoutMs;
    const owner = {
      freed: (slot: FunctionThreadSlot) => this.#freed(slot),
      lost: (slot: FunctionThreadSlot, error: Error) => {
        const index = this.#idle.indexOf(slot);
        if (index !== -1) this.#idle.splice(index, 1);
        log(`${name}: its thread ended: ${error.message}; another is started.`);
      },
    };
    this.#slots = Array.from(
      { length: settings.concurrency },
      () => new FunctionThreadSlot(owner, { file, name }),
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
    const closed = new BatchwiseError('CLOSED', `${this.#name}: the runner is closed.`);
    await Promise.all(this.#slots.map((slot) => slot.close(closed)));
  }

  #nextIdle(signal: AbortSignal): Promise<FunctionThreadSlot> {
    return new Promise((resolve, reject) => {
      const take = (slot: FunctionThreadSlot) => {
        signal.removeEventListener('abort', giveUp);
        resolve(slot);
      };
      const giveUp = () => {
        this.#waiting.delete(take);
        reject(signal.reason);
      };
      this.#waiting.add(take);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  #freed(slot: FunctionThreadSlot): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#idle.push(slot);
      return;
    }
    this.#waiting.delete(next);
    next(slot);
  }
}
