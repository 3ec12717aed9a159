/**
 * A slot for one worker of a model. When the worker ends unexpectedly, its requests fail immediately. A new worker
 * starts after a delay, which doubles until a worker has completed a request.
 */
import { BatchwiseError, type Clock } from 'batchwise';
import type { Signature, Tensors } from './tensor.js';
import type { InferCall } from './tensor-model.js';

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;

/** What a worker reports after its start. */
export interface StartedModel {
  readonly signature: Signature;
  /** An example request, for the warm-up. */
  readonly example?: Tensors | undefined;
}

/** Each event is emitted at most once, and none after the end. */
export interface WorkerEvents {
  started(model: StartedModel): void;
  /** The worker takes no more requests: its connection is lost. `ended` follows with the reason. */
  lost(): void;
  /** The worker ended unexpectedly, was killed, or could not start. */
  ended(error: Error): void;
}

/** A thread or a process that holds a copy of the model. */
export interface ModelWorker {
  /** Whether the worker takes another request now. */
  readonly hasRoom: boolean;
  /** Rejects with the error of the model, or with the reason why the worker ended. */
  run(inputs: Tensors, call: InferCall): Promise<Tensors>;
  /** Fails the requests in flight with the error and ends the worker. */
  kill(error: Error): Promise<void>;
}

export type StartWorker = (index: number, events: WorkerEvents) => ModelWorker;

/** The model of a slot. */
export interface SlotOwner {
  readonly file: string;
  readonly unit: string;
  readonly readsAhead: boolean;
  readonly clock: Clock;
  /** Whether a worker that started has the inputs and outputs of the first one. */
  accepts(signature: Signature): boolean;
  /** The worker has started, or takes no more requests. */
  slotChanged(slot: WorkerSlot): void;
  /** The slot has no worker until the restart. */
  slotLost(slot: WorkerSlot, error: Error): void;
}

export class WorkerSlot {
  readonly id: string;
  isLive = false;
  readonly #index: number;
  readonly #owner: SlotOwner;
  readonly #startWorker: StartWorker;
  #worker: ModelWorker | undefined = undefined;
  #isClosed = false;
  /** Workers that ended since the last completed request. */
  #failures = 0;
  #pause: unknown = undefined;

  constructor(index: number, owner: SlotOwner, startWorker: StartWorker) {
    this.id = `${owner.unit} ${index}`;
    this.#index = index;
    this.#owner = owner;
    this.#startWorker = startWorker;
  }

  get hasRoom(): boolean {
    return this.isLive && this.#worker?.hasRoom === true;
  }

  /** The workers of the slot keep ending before they complete a request, so requests fail instead of being queued. */
  get isBroken(): boolean {
    return !this.isLive && this.#failures > 1;
  }

  /** Starts the first worker. No restart is attempted if that fails. */
  start(): Promise<StartedModel> {
    return new Promise((resolve, reject) => {
      this.#begin(resolve, (error) => {
        this.#isClosed = true;
        reject(this.#startError(error));
      });
    });
  }

  async run(inputs: Tensors, call: InferCall): Promise<Tensors> {
    const worker = this.#worker;
    if (worker === undefined || !this.hasRoom) throw notStartedError(this.#owner.unit);
    const { clock, readsAhead } = this.#owner;
    const { signal, timeoutMs } = call;
    // A request without callers may finish within `timeoutMs`, because a restart costs more. A request that is read
    // ahead may wait as long for the one before it. No timer is needed while there are callers.
    const killAt = clock.now() + (readsAhead ? 2 : 1) * timeoutMs;
    let timer: unknown;
    const onAbort = (): void => {
      const kill = () => void worker.kill(new Error(`no reply within ${timeoutMs} ms; terminated`));
      // At once, because the batcher regards the slot as free.
      if (isTimeout(signal?.reason)) kill();
      else timer = clock.setTimer(kill, Math.max(0, killAt - clock.now()));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const outputs = await worker.run(inputs, call);
      this.#failures = 0;
      return outputs;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      clock.clearTimer(timer);
    }
  }

  async close(error: Error): Promise<void> {
    this.#isClosed = true;
    this.#owner.clock.clearTimer(this.#pause);
    await this.#worker?.kill(error);
  }

  #begin(onStart: (model: StartedModel) => void, onFailedStart?: (error: Error) => void): void {
    let hasStarted = false;
    const events: WorkerEvents = {
      started: (model) => {
        if (!this.#owner.accepts(model.signature)) {
          const message = 'its inputs or outputs differ from those at the start; restart the server';
          void this.#worker?.kill(new Error(message));
          return;
        }
        hasStarted = true;
        this.isLive = true;
        onStart(model);
        this.#owner.slotChanged(this);
      },
      lost: () => {
        if (!this.isLive) return;
        this.isLive = false;
        this.#owner.slotChanged(this);
      },
      ended: (error) => {
        this.#worker = undefined;
        this.isLive = false;
        if (!hasStarted) onFailedStart?.(error);
        if (!this.#isClosed) this.#restart(error);
      },
    };
    try {
      this.#worker = this.#startWorker(this.#index, events);
    } catch (error) {
      queueMicrotask(() => events.ended(error as Error));
    }
  }

  #restart(error: Error): void {
    const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#pause = this.#owner.clock.setTimer(() => this.#begin(() => {}), pauseMs);
    this.#owner.slotLost(this, error);
  }

  #startError(error: Error): BatchwiseError {
    if (error instanceof BatchwiseError) return error;
    const { file, unit } = this.#owner;
    const message = `${file}: the ${unit} of the model ended during its start: ${error.message}`;
    return new BatchwiseError('UNAVAILABLE', message, { cause: error });
  }
}

/** The requests in flight in a worker that ended fail with this error. */
export function workerEndedError(unit: string, error: Error): BatchwiseError {
  if (error instanceof BatchwiseError) return error;
  const message = `the ${unit} of the model ended during this batch: ${error.message}`;
  return new BatchwiseError('UNAVAILABLE', message, { cause: error });
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof BatchwiseError && reason.code === 'HANDLER_TIMEOUT';
}

/** The batch returns to the queue. */
export function notStartedError(unit: string): BatchwiseError {
  const message = `the ${unit} of the model ended before it received the batch.`;
  return new BatchwiseError('UNAVAILABLE', message, { notStarted: true });
}
