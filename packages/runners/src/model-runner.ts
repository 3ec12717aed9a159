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
import { Deliveries } from './deliveries.js';
import { groupKeyOf } from './group-key.js';
import { type Piece, runModelBatch } from './model-batch.js';
import { ModelRequest } from './model-request.js';
import { Readmission } from './readmission.js';
import type { InferRequest, ModelRunner, RunnerSink, RunnerState, RunnerTicket } from './runner.js';
import type { RunnerCall } from './runner-call.js';
import type { RunnerSettings } from './runner-settings.js';
import { enterInParts, neverInTime, type PartsPace, SETTLED } from './split-request.js';
import type { Signature, Tensors } from './tensor.js';
import type { TensorModel } from './tensor-model.js';
import { warmUp } from './warm-up.js';
import { WatchedState } from './watched-state.js';

export interface ModelRunnerOptions {
  readonly name: string;
  /** The runner's own from now on: it loads and closes it. */
  readonly model: TensorModel;
  readonly settings: RunnerSettings;
  /** @default the real one */
  readonly clock?: Clock | undefined;
  /** Told of each batch how long putting it together and taking its answer apart took. */
  readonly onAssembly?: ((durationMs: number) => void) | undefined;
  /**
   * Told of each batch that is one request because requests are not put together, when it starts: how many
   * rows it has. The batcher counts it as 1.
   */
  readonly onWhole?: ((rows: number) => void) | undefined;
}

export function createModelRunner(options: ModelRunnerOptions): ModelRunner {
  return new BatchingModelRunner(options);
}

class BatchingModelRunner implements ModelRunner {
  readonly kind = 'model';
  readonly name: string;
  readonly platform: string;
  readonly ready: Promise<void>;
  signature: Signature | undefined = undefined;

  readonly #state = new WatchedState('loading');
  readonly #model: TensorModel;
  readonly #clock: Clock;
  readonly #onAssembly: ModelRunnerOptions['onAssembly'];
  readonly #onWhole: ModelRunnerOptions['onWhole'];
  readonly #readmission = new Readmission<Tensors>();
  readonly #deliveries: Deliveries<Tensors>;
  #settings: RunnerSettings;
  #batcher: Batcher<ModelRequest, Tensors> | undefined = undefined;
  #failure: Error | undefined = undefined;
  #closing: Promise<void> | undefined = undefined;
  /** The dimension that counts rows, of a model whose requests can be put together. */
  #rowDim: number | undefined = undefined;
  #groupKey: ((inputs: Tensors) => unknown) | undefined = undefined;

  constructor({ name, model, settings, clock = realClock, onAssembly, onWhole }: ModelRunnerOptions) {
    this.name = name;
    this.platform = model.platform;
    this.#model = model;
    this.#settings = settings;
    this.#clock = clock;
    this.#deliveries = new Deliveries(clock);
    this.#onAssembly = onAssembly;
    this.#onWhole = onWhole;
    this.ready = this.#load();
    this.ready.catch(() => {}); // told by its state, and to whoever sends something
  }

  get isGrouped(): boolean {
    return this.#groupKey !== undefined;
  }

  get state(): RunnerState {
    return this.#state.current;
  }

  onStateChange(listener: () => void): () => void {
    return this.#state.onChange(listener);
  }

  enqueue(request: InferRequest, sink: RunnerSink<Tensors>, options?: EnqueueOptions): RunnerTicket {
    let rows: number;
    try {
      if (this.#batcher === undefined) throw this.#notReadyError();
      rows = checkRequest(this.signature as Signature, this.#rowDim, request);
      if (this.#isBatching && rows > this.#mostCost) this.#checkHope(rows, options);
    } catch (error) {
      sink.reject(error as Error);
      return SETTLED;
    }
    const { inputs, outputs } = request;
    const wanted = outputs === undefined || outputs.length === 0 ? undefined : eachOnce(outputs);
    return this.#enter({ inputs, outputs: wanted, rows }, sink, this.#inTime(options));
  }

  configure({ batching, timeoutMs }: RunnerSettings): void {
    const before = this.#settings;
    const wasBatching = this.#isBatching;
    // First, because those who no longer fit come in again by these.
    this.#settings = { ...before, batching, timeoutMs };
    if (this.#batcher === undefined) return;
    this.#readmission.change(this.#batcher, {
      mostCost: this.#mostCost,
      isOtherRule: this.#isBatching && !wasBatching,
      options: {
        ...batchingOptions(this.#settings, this.#isBatching),
        policy: changedPolicy(before.batching, batching),
      },
      undo: () => {
        this.#settings = before;
      },
      maxQueueSize: () => this.#settings.batching.maxQueueSize,
      enter: (call) => this.#enterAgain(call),
    });
  }

  stats(): BatcherStats | undefined {
    return this.#batcher && this.#readmission.corrected(this.#batcher.stats());
  }

  close(options?: CloseOptions): Promise<void> {
    this.#closing ??= this.#close(options);
    return this.#closing;
  }

  async #close(options: CloseOptions | undefined): Promise<void> {
    this.#state.become('closed');
    try {
      await this.#batcher?.close(options);
    } finally {
      this.#deliveries.flush();
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
      this.#state.become('ready');
      this.#model.availability?.onChange(() => this.#lookAtModel());
      this.#lookAtModel();
    } catch (error) {
      if (this.state === 'loading') {
        this.#failure = error as Error;
        this.#state.become('failed');
        await this.#model.close();
      }
      throw error;
    }
  }

  /** What is sent while it is away is refused by the model itself: it knows when to come again. */
  #lookAtModel(): void {
    if (this.state === 'closed') return;
    this.#state.become(this.#model.availability?.outage === undefined ? 'ready' : 'failed');
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
    const handler = (requests: ModelRequest[], context: BatchContext) => {
      this.#starts(requests[0] as ModelRequest);
      return runModelBatch(batched, requests, context, this.#settings.timeoutMs);
    };
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

  /** Each request counts as 1, but would count as its rows with batching on. */
  get #countsWholes(): boolean {
    return this.#rowDim !== undefined && !this.#settings.batching.enabled;
  }

  /** What one item of the batcher may cost. */
  get #mostCost(): number {
    return this.#isBatching ? mostRows(this.#settings.batching) : 1;
  }

  #enter(piece: Piece, sink: RunnerSink<Tensors>, options: EnqueueOptions | undefined): RunnerTicket {
    const { rows, inputs } = piece;
    // By its group also where that does not matter: it may still wait when it begins to.
    const group = this.#groupKey?.(inputs);
    if (!this.#isBatching) return this.#submit(piece, 1, group, sink, options);
    if (rows > this.#mostCost) return this.#split(piece, sink, options);
    return this.#submit(piece, rows, group, sink, options);
  }

  #submit(
    piece: Piece,
    cost: number,
    group: unknown,
    sink: RunnerSink<Tensors>,
    options: EnqueueOptions | undefined,
  ): RunnerTicket {
    const request = new ModelRequest(this.#readmission, this.#deliveries, piece, cost, group, sink, options);
    const batcher = this.#batcher as Batcher<ModelRequest, Tensors>;
    const ticket = batcher.enqueue(request, request, options);
    if (this.#countsWholes && !ticket.settled) this.#readmission.waits(request);
    return request.entered(ticket);
  }

  /** Who counts as 1 has a batch of its own. */
  #starts(request: ModelRequest): void {
    this.#readmission.left(request);
    if (request.cost !== request.rows) this.#onWhole?.(request.rows);
  }

  #split(piece: Piece, sink: RunnerSink<Tensors>, options: EnqueueOptions | undefined): RunnerTicket {
    const { batchDim, batching } = this.#settings;
    const rule = {
      name: this.name,
      batchDim,
      maxRows: this.#mostCost,
      maxParts: batching.maxQueueSize,
      pace: this.#paceFor(options),
    };
    return enterInParts(piece, rule, sink, (part, partSink) => this.#enter(part, partSink, options));
  }

  #checkHope(rows: number, options: EnqueueOptions | undefined): void {
    const refusal = neverInTime(this.name, rows, this.#mostCost, this.#paceFor(options));
    if (refusal !== undefined) throw refusal;
  }

  #paceFor(options: EnqueueOptions | undefined): PartsPace | undefined {
    const { batching, timeoutMs, concurrency } = this.#settings;
    const stats = this.#batcher?.stats();
    if (stats?.fullBatchMs === undefined) return undefined;
    const { fullBatchMs: partMs, queued, batchesRunning } = stats;
    const allowedMs = Math.min(batching.maxLatencyMs, options?.timeoutMs ?? timeoutMs);
    return { partMs, concurrency, allowedMs, isAlone: queued + batchesRunning === 0 };
  }

  /** By the limits of now. */
  #enterAgain(call: RunnerCall<Tensors>): void {
    const options = call.optionsAgain(this.#clock.now(), this.#settings.timeoutMs);
    call.enteredAgain(this.#enter(call as ModelRequest, call.sink, options));
  }

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
    // Where an upstream was looked for is not for callers to know.
    const why = this.#model.availability === undefined ? `: ${this.#failure.message}` : '.';
    const message = `${name}: the model could not be loaded${why}`;
    return new BatchwiseError('UNAVAILABLE', message, { cause: this.#failure });
  }
}

/** Who asks twice gets it once: models refuse to be asked twice. */
function eachOnce(names: readonly string[]): readonly string[] {
  const once = new Set(names);
  return once.size === names.length ? names : [...once];
}
