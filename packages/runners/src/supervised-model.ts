/**
 * A model on workers (threads or processes), each a backend of the batcher. A worker that ends unexpectedly fails its
 * requests at once and is restarted after a delay.
 */
import { stat } from 'node:fs/promises';
import { BackendSet, BatchwiseError, type Clock, type Handler, realClock } from 'batchwise';
import { type SlotOwner, type StartedModel, type StartWorker, WorkerSlot } from './model-worker-slot.js';
import type { Availability } from './runner.js';
import { DEFAULT_RUNNER_SETTINGS } from './runner-settings.js';
import { signatureWithExample } from './signature-with-example.js';
import type { Signature, Tensors } from './tensor.js';
import type { InferCall, TensorModel } from './tensor-model.js';

export interface SupervisedModelOptions {
  readonly platform: string;
  /** The file of the model. */
  readonly file: string;
  /** What a worker is, for messages. */
  readonly unit: 'thread' | 'process';
  readonly workers: number;
  /** The number of batches that a worker runs at a time. */
  readonly slotsPerWorker: number;
  /** Whether a worker takes a batch while its slots are busy, so that the data is there when a slot is free. */
  readonly readsAhead: boolean;
  readonly start: StartWorker;
  /**
   * The timeout of requests. The model is unavailable after it has had no live worker for so long.
   * @default 30000
   */
  readonly timeoutMs?: number | undefined;
  /** Called for each worker that ended unexpectedly. A replacement is being started. */
  readonly onWorkerDeath?: ((error: BatchwiseError) => void) | undefined;
  /** @default the real clock */
  readonly clock?: Clock | undefined;
}

export class SupervisedModel implements TensorModel, SlotOwner {
  readonly platform: string;
  readonly file: string;
  readonly unit: 'thread' | 'process';
  readonly timesBatches = true;
  readonly slotsPerWorker: number;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly availability: Availability;
  readonly #listeners = new Set<() => void>();
  readonly #readsAhead: boolean;
  readonly #slots: readonly WorkerSlot[];
  readonly #onWorkerDeath: ((error: BatchwiseError) => void) | undefined;
  #backends: BackendSet | undefined = undefined;
  /** Of the first worker, as text. */
  #signature: string | undefined = undefined;
  #example: Tensors | undefined = undefined;
  #isClosed = false;

  constructor(options: SupervisedModelOptions) {
    const { platform, file, unit, workers, slotsPerWorker, start, onWorkerDeath, clock } = options;
    this.platform = platform;
    this.file = file;
    this.unit = unit;
    this.#readsAhead = options.readsAhead;
    this.clock = clock ?? realClock;
    this.timeoutMs = options.timeoutMs ?? DEFAULT_RUNNER_SETTINGS.timeoutMs;
    this.slotsPerWorker = slotsPerWorker;
    this.#onWorkerDeath = onWorkerDeath;
    const outage = () => this.#outage;
    this.availability = {
      get outage() {
        return outage();
      },
      onChange: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
    this.#slots = Array.from({ length: workers }, (_, index) => new WorkerSlot(index, this, start));
  }

  get backendIds(): readonly string[] {
    return this.#slots.map(({ id }) => id);
  }

  get slots(): number {
    return this.#slots.length * this.slotsPerWorker;
  }

  get example(): Tensors | undefined {
    return this.#example;
  }

  async load(): Promise<Signature> {
    await this.#checkFile();
    try {
      if (this.#isClosed) throw this.#closedError();
      const [first] = await Promise.all(this.#slots.map((slot) => slot.start()));
      this.#example = first?.example;
      return signatureWithExample((first as StartedModel).signature, first?.example);
    } catch (error) {
      const wasClosed = this.#isClosed;
      await this.close();
      throw wasClosed ? this.#closedError() : error;
    }
  }

  createBackends<I, R>(run: Handler<I, R>, clock: Clock): BackendSet<I, R> {
    const { slotsPerWorker: slots } = this;
    const readsAhead = this.#readsAhead;
    const backends = this.#slots.map(({ id }) => ({ id, slots, readsAhead, run }));
    // The slots report their health. Errors of the model are no evidence about its worker.
    const set = new BackendSet(backends, { maxFailures: Number.POSITIVE_INFINITY, clock });
    this.#backends = set;
    for (const slot of this.#slots) this.#reportHealth(slot);
    return set;
  }

  async infer(inputs: Tensors, call: InferCall): Promise<Tensors> {
    if (this.#isClosed) throw this.#closedError();
    const isChosen = ({ id, hasRoom }: WorkerSlot) =>
      call.backend === undefined ? hasRoom : id === call.backend;
    const slot = this.#slots.find(isChosen) ?? (this.#slots[0] as WorkerSlot);
    return slot.run(inputs, call);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#slots.map((slot) => slot.close(this.#closedError())));
  }

  accepts(signature: Signature): boolean {
    const text = JSON.stringify(signature);
    this.#signature ??= text;
    return text === this.#signature;
  }

  slotChanged(slot: WorkerSlot): void {
    this.#reportHealth(slot);
  }

  slotLost(slot: WorkerSlot, error: Error): void {
    this.#reportHealth(slot);
    const message = `${this.file}: a ${this.unit} of the model ended: ${error.message}`;
    this.#onWorkerDeath?.(new BatchwiseError('UNAVAILABLE', message, { cause: error }));
  }

  slotOverdue(slot: WorkerSlot): void {
    this.#reportHealth(slot);
  }

  /** Requests are queued until a worker has restarted, unless all workers keep failing or do not start in time. */
  #reportHealth({ id, isLive, isBroken }: WorkerSlot): void {
    this.#backends?.setHealth(id, isLive || (isBroken && 'unreachable'), this.#failingError());
    for (const listener of this.#listeners) listener();
  }

  get #outage(): Error | undefined {
    return this.#slots.every(({ isBroken }) => isBroken) ? this.#failingError() : undefined;
  }

  #failingError(): BatchwiseError {
    const { file, unit } = this;
    const message = `${file}: no ${unit} of the model is running: it ended repeatedly, or its start takes too long. It is being restarted.`;
    return new BatchwiseError('UNAVAILABLE', message);
  }

  #closedError(): BatchwiseError {
    return new BatchwiseError('CLOSED', `${this.file}: the model is closed.`);
  }

  async #checkFile(): Promise<void> {
    let isFile: boolean;
    try {
      isFile = (await stat(this.file)).isFile();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const why = code === 'ENOENT' ? 'there is no such file' : message;
      throw new BatchwiseError('INVALID_OPTION', `${this.file} cannot be served: ${why}.`, { cause: error });
    }
    if (!isFile)
      throw new BatchwiseError('INVALID_OPTION', `${this.file} cannot be served: it is not a file.`);
  }
}
