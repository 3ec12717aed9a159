/** A model with a batcher of its own. Loads when it is made; takes requests once it is warm. */
import {
  type BatchContext,
  Batcher,
  type BatcherStats,
  BatchwiseError,
  type Clock,
  type CloseOptions,
  type CurvePoint,
  type EnqueueOptions,
  realClock,
} from 'batchwise';
import { rowDimOf } from './batch-dim.js';
import { batchingOptions, changedPolicy, mostRows, policyOf } from './batching-options.js';
import { checkRequest } from './check-request.js';
import { groupKeyOf } from './group-key.js';
import { type Piece, runModelBatch } from './model-batch.js';
import { ModelRequest } from './model-request.js';
import type { InferRequest, ModelRunner, RunnerSink, RunnerState, RunnerTicket } from './runner.js';
import type { RunnerSettings } from './runner-settings.js';
import { partsOf, SplitRequest } from './split-request.js';
import type { Signature, Tensors } from './tensor.js';
import type { TensorModel } from './tensor-model.js';
import { warmUp } from './warm-up.js';

export interface ModelRunnerOptions {
  readonly name: string;
  /** The runner's own from now on: it loads and closes it. */
  readonly model: TensorModel;
  readonly settings: RunnerSettings;
  /** @default the real one */
  readonly clock?: Clock | undefined;
  /** Told of each batch how long putting it together and taking its answer apart took. */
  readonly onAssembly?: ((durationMs: number) => void) | undefined;
}

export function createModelRunner(options: ModelRunnerOptions): ModelRunner {
  return new BatchingModelRunner(options);
}

/** For those who are turned away before they are in: there is nothing to cancel. */
const SETTLED: RunnerTicket = { cancel() {} };

class BatchingModelRunner implements ModelRunner {
  readonly kind = 'model';
  readonly name: string;
  readonly platform: string;
  readonly ready: Promise<void>;
  signature: Signature | undefined = undefined;
  state: RunnerState = 'loading';

  readonly #model: TensorModel;
  readonly #clock: Clock;
  readonly #onAssembly: ModelRunnerOptions['onAssembly'];
  #settings: RunnerSettings;
  #batcher: Batcher<ModelRequest, Tensors> | undefined = undefined;
  #failure: Error | undefined = undefined;
  #closing: Promise<void> | undefined = undefined;
  /** The dimension that counts rows, of a model whose requests can be put together. */
  #rowDim: number | undefined = undefined;
  #groupKey: ((inputs: Tensors) => unknown) | undefined = undefined;

  constructor({ name, model, settings, clock = realClock, onAssembly }: ModelRunnerOptions) {
    this.name = name;
    this.platform = model.platform;
    this.#model = model;
    this.#settings = settings;
    this.#clock = clock;
    this.#onAssembly = onAssembly;
    this.ready = this.#load();
    this.ready.catch(() => {}); // told by its state, and to whoever sends something
  }

  enqueue(request: InferRequest, sink: RunnerSink<Tensors>, options?: EnqueueOptions): RunnerTicket {
    let rows: number;
    try {
      if (this.#batcher === undefined) throw this.#notReadyError();
      rows = checkRequest(this.signature as Signature, this.#rowDim, request);
    } catch (error) {
      sink.reject(error as Error);
      return SETTLED;
    }
    const { inputs, outputs } = request;
    const wanted = outputs === undefined || outputs.length === 0 ? undefined : outputs;
    return this.#enter({ inputs, outputs: wanted, rows }, sink, this.#inTime(options));
  }

  configure(settings: RunnerSettings): void {
    const before = this.#settings;
    const { batching, timeoutMs } = settings;
    const policy = changedPolicy(before.batching, batching);
    // First, because those who no longer fit come back to ask at once.
    this.#settings = { ...before, batching, timeoutMs };
    try {
      this.#batcher?.configure({ ...batchingOptions(this.#settings, this.#isBatching), policy });
    } catch (error) {
      this.#settings = before;
      throw error;
    }
  }

  stats(): BatcherStats | undefined {
    return this.#batcher?.stats();
  }

  close(options?: CloseOptions): Promise<void> {
    this.#closing ??= this.#close(options);
    return this.#closing;
  }

  async #close(options: CloseOptions | undefined): Promise<void> {
    this.state = 'closed';
    try {
      await this.#batcher?.close(options);
    } finally {
      await this.#model.close();
    }
  }

  async #load(): Promise<void> {
    const { name } = this;
    try {
      const signature = await this.#model.load();
      this.#rowDim = rowDimOf(signature, this.#settings);
      this.#groupKey = this.#rowDim === undefined ? undefined : groupKeyOf(signature, this.#rowDim);
      this.signature = signature;
      const settings = this.#settings;
      const isWanted = () => this.state === 'loading';
      const warming = { name, model: this.#model, signature, settings, clock: this.#clock, isWanted };
      const curve = await warmUp(warming);
      if (this.state !== 'loading') throw this.#notReadyError();
      this.#batcher = this.#newBatcher(signature, curve);
      this.state = 'ready';
    } catch (error) {
      if (this.state === 'loading') {
        this.state = 'failed';
        this.#failure = error as Error;
        await this.#model.close();
      }
      throw error;
    }
  }

  #newBatcher(signature: Signature, curve: readonly CurvePoint[]): Batcher<ModelRequest, Tensors> {
    const { batchDim, batching, concurrency } = this.#settings;
    const batched = {
      name: this.name,
      model: this.#model,
      signature,
      batchDim: this.#rowDim === undefined ? undefined : batchDim,
      clock: this.#clock,
      onAssembly: this.#onAssembly,
    };
    const handler = (requests: ModelRequest[], context: BatchContext) =>
      runModelBatch(batched, requests, context, this.#settings.timeoutMs);
    return new Batcher<ModelRequest, Tensors>(handler, {
      ...batchingOptions(this.#settings, this.#isBatching),
      name: this.name,
      costOf: ({ cost }) => cost,
      groupOf: this.#groupKey === undefined ? undefined : ({ group }) => group,
      policy: policyOf(batching),
      isolate: true,
      concurrency,
      curve: curve.filter(({ cost }) => cost <= this.#mostCost),
      clock: this.#clock,
    });
  }

  get #isBatching(): boolean {
    return this.#rowDim !== undefined && this.#settings.batching.enabled;
  }

  /** What one item of the batcher may cost. */
  get #mostCost(): number {
    return this.#isBatching ? mostRows(this.#settings.batching) : 1;
  }

  #enter(piece: Piece, sink: RunnerSink<Tensors>, options: EnqueueOptions | undefined): RunnerTicket {
    const { rows, inputs } = piece;
    if (!this.#isBatching) return this.#submit(piece, 1, undefined, sink, options);
    if (rows > this.#mostCost) return this.#split(piece, sink, options);
    return this.#submit(piece, rows, this.#groupKey?.(inputs), sink, options);
  }

  #submit(
    piece: Piece,
    cost: number,
    group: unknown,
    sink: RunnerSink<Tensors>,
    options: EnqueueOptions | undefined,
  ): RunnerTicket {
    const request = new ModelRequest(piece, cost, group, sink, options, this.#secondChance);
    const batcher = this.#batcher as Batcher<ModelRequest, Tensors>;
    return request.entered(batcher.enqueue(request, request, options));
  }

  #split(piece: Piece, sink: RunnerSink<Tensors>, options: EnqueueOptions | undefined): RunnerTicket {
    const { batchDim, batching } = this.#settings;
    const maxRows = this.#mostCost;
    const count = Math.ceil(piece.rows / maxRows);
    if (batching.maxQueueSize !== -1 && count > batching.maxQueueSize) {
      const message =
        `${this.name}: a request of ${piece.rows} rows makes ${count} batches of ${maxRows}, ` +
        `which never fit in a queue of ${batching.maxQueueSize}.`;
      sink.reject(new BatchwiseError('INVALID_ITEM', message));
      return SETTLED;
    }
    const parts = partsOf(piece, batchDim[0], maxRows);
    return new SplitRequest(sink, batchDim[1]).enter(parts, (part, partSink) =>
      this.#enter(part, partSink, options),
    );
  }

  /** Batches have become smaller than a request that was already in: it is cut to fit, in the time it has left. */
  readonly #secondChance = (request: ModelRequest, error: Error): RunnerTicket | undefined => {
    if (request.cost <= this.#mostCost || (error as BatchwiseError).code !== 'INVALID_ITEM') return undefined;
    const { timeoutMs = this.#settings.timeoutMs } = request.options ?? {};
    const leftMs = Math.max(0, timeoutMs - (this.#clock.now() - request.arrivedAt));
    return this.#enter(request, request.sink, { ...request.options, timeoutMs: leftMs });
  };

  /** Nobody may take longer than the runner's time-out. */
  #inTime(options: EnqueueOptions | undefined): EnqueueOptions | undefined {
    const { timeoutMs } = this.#settings;
    if (options?.timeoutMs === undefined || !(options.timeoutMs > timeoutMs)) return options;
    return { ...options, timeoutMs };
  }

  #notReadyError(): BatchwiseError {
    const { name, state } = this;
    if (state === 'closed') return new BatchwiseError('CLOSED', `${name}: the runner is closed.`);
    if (this.#failure === undefined)
      return new BatchwiseError('UNAVAILABLE', `${name}: the model is loading.`);
    const message = `${name}: the model could not be loaded: ${this.#failure.message}`;
    return new BatchwiseError('UNAVAILABLE', message, { cause: this.#failure });
  }
}
