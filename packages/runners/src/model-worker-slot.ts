/**
 * A slot for one worker of a model. When the worker ends unexpectedly, its requests fail immediately. A new worker
 * starts after a delay, which doubles until a worker has completed a request.
 */
import { BatchwiseError, type Clock } from 'batchwise';
import type { Signature, Tensors } from './tensor.js';
import type { InferCall } from './tensor-model.js';

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;
/**
 * The limit of a restart, as a multiple of the first start on this machine. A restart is slower only if memory is short
 * or the files of the model are no longer in the cache. The first start has no limit: it may fetch the model.
 */
const RESTART_FACTOR = 10;
const MIN_RESTART_LIMIT_MS = 30_000;

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

/** A batch that was sent to a worker. */
interface SentBatch {
  readonly timeoutMs: number;
  /** Set while the worker runs the batch. */
  timer: unknown;
  timeout: BatchwiseError | undefined;
}

/** The model of a slot. */
export interface SlotOwner {
  readonly file: string;
  readonly unit: string;
  /** The number of batches that a worker runs at a time. The others are read ahead. */
  readonly slotsPerWorker: number;
  readonly clock: Clock;
  /** The timeout of requests. A slot without a live worker for so long is broken. */
  readonly timeoutMs: number;
  /** Whether a worker that started has the inputs and outputs of the first one. */
  accepts(signature: Signature): boolean;
  /** The worker has started, or takes no more requests. */
  slotChanged(slot: WorkerSlot): void;
  /** The slot has no worker until the restart. */
  slotLost(slot: WorkerSlot, error: Error): void;
  /** The slot has been without a live worker for `timeoutMs`. */
  slotOverdue(slot: WorkerSlot): void;
}

export class WorkerSlot {
  readonly id: string;
  isLive = false;
  readonly #index: number;
  readonly #owner: SlotOwner;
  readonly #startWorker: StartWorker;
  #worker: ModelWorker | undefined = undefined;
  /** In the order of sending, in which the worker runs them. */
  readonly #sent = new Set<SentBatch>();
  #isClosed = false;
  /** Workers that ended since the last completed request. */
  #failures = 0;
  #pause: unknown = undefined;
  /** The duration of the first start. */
  #firstStartMs: number | undefined = undefined;
  #startTimer: unknown = undefined;
  #overdueTimer: unknown = undefined;
  #isOverdue = false;

  constructor(index: number, owner: SlotOwner, startWorker: StartWorker) {
    this.id = `${owner.unit} ${index}`;
    this.#index = index;
    this.#owner = owner;
    this.#startWorker = startWorker;
  }

  get hasRoom(): boolean {
    return this.isLive && this.#worker?.hasRoom === true;
  }

  /**
   * The workers of the slot keep ending before they complete a request, or a restart takes longer than a request may
   * wait, so requests fail instead of being queued.
   */
  get isBroken(): boolean {
    return !this.isLive && (this.#failures > 1 || this.#isOverdue);
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
    const sent: SentBatch = { timeoutMs: call.timeoutMs, timer: undefined, timeout: undefined };
    this.#sent.add(sent);
    this.#timeRunning(worker);
    try {
      const outputs = await worker.run(inputs, call);
      this.#failures = 0;
      return outputs;
    } catch (error) {
      throw sent.timeout ?? error;
    } finally {
      this.#sent.delete(sent);
      this.#owner.clock.clearTimer(sent.timer);
      this.#timeRunning(worker);
    }
  }

  async close(error: Error): Promise<void> {
    this.#isClosed = true;
    this.#clearTimers();
    await this.#worker?.kill(error);
  }

  /**
   * Each batch has its timeout from the moment at which the worker begins it. The signal of the batch cannot be used: it
   * fires once, at the deadlines of the callers, which include the queue wait.
   */
  #timeRunning(worker: ModelWorker): void {
    const { clock, slotsPerWorker } = this.#owner;
    let position = 0;
    for (const sent of this.#sent) {
      if (position++ === slotsPerWorker) return;
      if (sent.timer !== undefined || sent.timeoutMs === Number.POSITIVE_INFINITY) continue;
      sent.timer = clock.setTimer(() => this.#timedOut(worker, sent), sent.timeoutMs);
    }
  }

  #timedOut(worker: ModelWorker, sent: SentBatch): void {
    const why = `no reply within ${sent.timeoutMs} ms; terminated`;
    sent.timeout = new BatchwiseError('HANDLER_TIMEOUT', `the ${this.#owner.unit} of the model gave ${why}.`);
    void worker.kill(new Error(why));
  }

  #begin(onStart: (model: StartedModel) => void, onFailedStart?: (error: Error) => void): void {
    const { clock } = this.#owner;
    const beganAt = clock.now();
    let hasStarted = false;
    const events: WorkerEvents = {
      started: (model) => {
        if (!this.#owner.accepts(model.signature)) {
          const message = 'its inputs or outputs differ from those at the start; restart the server';
          void this.#worker?.kill(new Error(message));
          return;
        }
        this.#clearTimers();
        this.#firstStartMs ??= clock.now() - beganAt;
        this.#isOverdue = false;
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
        clock.clearTimer(this.#startTimer);
        if (!hasStarted) onFailedStart?.(error);
        if (this.#isClosed) return;
        if (hasStarted) this.#watchOutage();
        this.#restart(error);
      },
    };
    try {
      this.#worker = this.#startWorker(this.#index, events);
    } catch (error) {
      queueMicrotask(() => events.ended(error as Error));
      return;
    }
    if (this.#firstStartMs === undefined) return;
    const limitMs = Math.max(MIN_RESTART_LIMIT_MS, Math.ceil(RESTART_FACTOR * this.#firstStartMs));
    const worker = this.#worker;
    this.#startTimer = clock.setTimer(() => {
      void worker.kill(new Error(`not ready within ${limitMs} ms; terminated`));
    }, limitMs);
  }

  #watchOutage(): void {
    const { clock, timeoutMs } = this.#owner;
    this.#overdueTimer = clock.setTimer(() => {
      this.#isOverdue = true;
      this.#owner.slotOverdue(this);
    }, timeoutMs);
  }

  #restart(error: Error): void {
    const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#pause = this.#owner.clock.setTimer(() => this.#begin(() => {}), pauseMs);
    this.#owner.slotLost(this, error);
  }

  #clearTimers(): void {
    const { clock } = this.#owner;
    for (const timer of [this.#pause, this.#startTimer, this.#overdueTimer]) clock.clearTimer(timer);
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

/** The batch returns to the queue. */
export function notStartedError(unit: string): BatchwiseError {
  const message = `the ${unit} of the model ended before it received the batch.`;
  return new BatchwiseError('UNAVAILABLE', message, { notStarted: true });
}
