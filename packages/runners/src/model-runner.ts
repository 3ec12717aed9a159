/**
 * A runner for a model, with its own batcher. Loads the model when it is created and accepts requests after warm-up.
 */
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
import {
  type BatchingOptions,
  batchingOptions,
  changedPolicy,
  maxRowsOf,
  policyOf,
} from './batching-options.js';
import { checkRequest } from './check-request.js';
import { Deliveries } from './deliveries.js';
import { groupKeyOf } from './group-key.js';
import { type Piece, runModelBatch } from './model-batch.js';
import { ModelRequest } from './model-request.js';
import { Readmission } from './readmission.js';
import type { InferRequest, ModelRunner, RunnerSink, RunnerState, RunnerTicket } from './runner.js';
import { type RunnerCall, SETTLED, withCappedTimeout } from './runner-call.js';
import type { RunnerSettings } from './runner-settings.js';
import { enterInParts, type PartsPace, tooSlowError } from './split-request.js';
import type { Signature, Tensors } from './tensor.js';
import type { TensorModel } from './tensor-model.js';
import { warmUp } from './warm-up.js';
import { WatchedState } from './watched-state.js';

export interface ModelRunnerOptions {
  readonly name: string;
  /** The runner owns the model: it loads and closes it. */
  readonly model: TensorModel;
  readonly settings: RunnerSettings;
  /**
   * Whether requests are rejected if their predicted latency is too long.
   * @default true
   */
  readonly admission?: boolean | undefined;
  /** @default the real clock */
  readonly clock?: Clock | undefined;
  /** Called for each batch with the time spent on concatenating the inputs and splitting the outputs. */
  readonly onAssembly?: ((durationMs: number) => void) | undefined;
  /**
   * Called at the start of each request that runs without batching, with its number of rows. The batcher counts such
   * a request as 1.
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
  readonly #admission: boolean;
  readonly #clock: Clock;
  readonly #onAssembly: ModelRunnerOptions['onAssembly'];
  readonly #onWhole: ModelRunnerOptions['onWhole'];
  readonly #readmission = new Readmission<Tensors>();
  readonly #deliveries: Deliveries<Tensors>;
  #settings: RunnerSettings;
  #batcher: Batcher<ModelRequest, Tensors> | undefined = undefined;
  #failure: Error | undefined = undefined;
  #closing: Promise<void> | undefined = undefined;
  /** The dimension that counts rows; undefined if requests cannot be concatenated. */
  #rowDim: number | undefined = undefined;
  #groupKey: ((inputs: Tensors) => unknown) | undefined = undefined;

  constructor(options: ModelRunnerOptions) {
    const { name, model, settings, admission = true, clock = realClock, onAssembly, onWhole } = options;
    this.name = name;
    this.#admission = admission;
    this.platform = model.platform;
    this.#model = model;
    this.#settings = settings;
    this.#clock = clock;
    this.#deliveries = new Deliveries(clock);
    this.#onAssembly = onAssembly;
    this.#onWhole = onWhole;
    this.ready = this.#load();
    this.ready.catch(() => {}); // the state and each request report the failure
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
      if (this.#isBatching && rows > this.#maxCost) this.#checkDuration(rows, options);
    } catch (error) {
      sink.reject(error as Error);
      return SETTLED;
    }
    const { inputs, outputs } = request;
    const wanted = outputs === undefined || outputs.length === 0 ? undefined : unique(outputs);
    return this.#admit(
      { inputs, outputs: wanted, rows },
      sink,
      withCappedTimeout(options, this.#settings.timeoutMs),
    );
  }

  configure({ batching, timeoutMs }: RunnerSettings): void {
    const before = this.#settings;
    const wasBatching = this.#isBatching;
    // Set first, because readmitted requests use the new settings.
    this.#settings = { ...before, batching, timeoutMs };
    if (this.#batcher === undefined) return;
    this.#readmission.change(this.#batcher, {
      maxCost: this.#maxCost,
      costsChange: this.#isBatching && !wasBatching,
      options: {
        ...this.#batchingOptions,
        policy: changedPolicy(before.batching, batching),
      },
      undo: () => {
        this.#settings = before;
      },
      maxQueueSize: () => this.#settings.batching.maxQueueSize,
      readmit: (call) => this.#readmit(call),
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
      const isLoading = () => this.state === 'loading';
      const warming = { name, model: this.#model, signature, settings, clock: this.#clock, isLoading };
      const curve = await warmUp(warming);
      if (this.state !== 'loading') throw this.#notReadyError();
      this.#batcher = this.#newBatcher(signature, curve);
      this.#state.become('ready');
      this.#model.availability?.onChange(() => this.#updateState());
      this.#updateState();
    } catch (error) {
      if (this.state === 'loading') {
        this.#failure = error as Error;
        this.#state.become('failed');
        await this.#model.close();
      }
      throw error;
    }
  }

  /** While the model is unavailable, requests still reach it: the model rejects them with the right retry time. */
  #updateState(): void {
    if (this.state === 'closed') return;
    this.#state.become(this.#model.availability?.outage === undefined ? 'ready' : 'failed');
  }

  #newBatcher(signature: Signature, curve: readonly CurvePoint[]): Batcher<ModelRequest, Tensors> {
    const { batchDim, batching } = this.#settings;
    const batched = {
      name: this.name,
      model: this.#model,
      signature,
      batchDim: this.#rowDim === undefined ? undefined : batchDim,
      clock: this.#clock,
      onAssembly: this.#onAssembly,
    };
    const handler = (requests: ModelRequest[], context: BatchContext) => {
      this.#onStart(requests[0] as ModelRequest);
      return runModelBatch(batched, requests, context, this.#settings.timeoutMs);
    };
    const options = {
      ...this.#batchingOptions,
      name: this.name,
      costOf: ({ cost }: ModelRequest) => cost,
      groupOf: this.#groupKey === undefined ? undefined : ({ group }: ModelRequest) => group,
      policy: policyOf(batching),
      isolate: this.#settings.isolate,
      admission: this.#admission,
      concurrency: this.#slots,
      curve: curve.filter(({ cost }) => cost <= this.#maxCost),
      clock: this.#clock,
    };
    const backends = this.#model.createBackends?.(handler, this.#clock);
    return backends === undefined ? new Batcher(handler, options) : new Batcher({ ...options, backends });
  }

  get #batchingOptions(): BatchingOptions {
    const options = batchingOptions(this.#settings, this.#isBatching);
    return this.#model.timesBatches ? { ...options, handlerTimeoutMs: Number.POSITIVE_INFINITY } : options;
  }

  /** The number of batches that run at a time. */
  get #slots(): number {
    return this.#model.slots ?? this.#settings.concurrency;
  }

  get #isBatching(): boolean {
    return this.#rowDim !== undefined && this.#settings.batching.enabled;
  }

  /** Each request has cost 1 now, but its cost would be its rows with batching enabled. */
  get #countsRequests(): boolean {
    return this.#rowDim !== undefined && !this.#settings.batching.enabled;
  }

  /** The maximum cost of one item in the batcher. */
  get #maxCost(): number {
    return this.#isBatching ? maxRowsOf(this.#settings.batching) : 1;
  }

  #admit(piece: Piece, sink: RunnerSink<Tensors>, options: EnqueueOptions | undefined): RunnerTicket {
    const { rows, inputs } = piece;
    // The group is set even without batching: batching may be enabled while the request is queued.
    const group = this.#groupKey?.(inputs);
    if (!this.#isBatching) return this.#submit(piece, 1, group, sink, options);
    if (rows > this.#maxCost) return this.#split(piece, sink, options);
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
    if (this.#countsRequests && !ticket.settled) this.#readmission.track(request);
    return request.admitted(ticket);
  }

  /** A request with cost 1 and several rows is a batch of its own. */
  #onStart(request: ModelRequest): void {
    this.#readmission.untrack(request);
    if (request.cost !== request.rows) this.#onWhole?.(request.rows);
  }

  #split(piece: Piece, sink: RunnerSink<Tensors>, options: EnqueueOptions | undefined): RunnerTicket {
    const { batchDim, batching } = this.#settings;
    const rule = {
      name: this.name,
      batchDim,
      maxRows: this.#maxCost,
      maxParts: batching.maxQueueSize,
      pace: this.#paceFor(options),
    };
    return enterInParts(piece, rule, sink, (part, partSink) => this.#admit(part, partSink, options));
  }

  #checkDuration(rows: number, options: EnqueueOptions | undefined): void {
    const error = tooSlowError(this.name, rows, this.#maxCost, this.#paceFor(options));
    if (error !== undefined) throw error;
  }

  #paceFor(options: EnqueueOptions | undefined): PartsPace | undefined {
    const { batching, timeoutMs } = this.#settings;
    const stats = this.#admission ? this.#batcher?.stats() : undefined;
    if (stats?.fullBatchMs === undefined) return undefined;
    const { fullBatchMs: partMs, queued, batchesRunning } = stats;
    const allowedMs = Math.min(batching.targetLatencyMs, options?.timeoutMs ?? timeoutMs);
    return { partMs, concurrency: this.#slots, allowedMs, isAlone: queued + batchesRunning === 0 };
  }

  /** Admits a call again under the current limits. */
  #readmit(call: RunnerCall<Tensors>): void {
    const options = call.readmissionOptions(this.#clock.now(), this.#settings.timeoutMs);
    call.readmitted(this.#admit(call as ModelRequest, call.sink, options));
  }

  #notReadyError(): BatchwiseError {
    const { name, state } = this;
    if (state === 'closed') return new BatchwiseError('CLOSED', `${name}: the runner is closed.`);
    if (this.#failure === undefined)
      return new BatchwiseError('UNAVAILABLE', `${name}: the model is loading.`);
    // The address of an upstream is only in the cause, not in the message to callers.
    const why = this.#model.availability === undefined ? `: ${this.#failure.message}` : '.';
    const message = `${name}: the model could not be loaded${why}`;
    return new BatchwiseError('UNAVAILABLE', message, { cause: this.#failure });
  }
}

/** Removes duplicate output names, which models reject. */
function unique(names: readonly string[]): readonly string[] {
  const once = new Set(names);
  return once.size === names.length ? names : [...once];
}
