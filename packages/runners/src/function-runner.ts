/** A runner for a function over arrays, with its own batcher. */
import {
  type BackendSet,
  type BatchContext,
  Batcher,
  type BatcherOptions,
  type BatcherStats,
  type BatchRecord,
  BatchwiseError,
  type Clock,
  type CloseOptions,
  type EnqueueOptions,
  type Handler,
  realClock,
} from 'batchwise';
import { batchingOptions, changedPolicy, policyOf } from './batching-options.js';
import { Deliveries } from './deliveries.js';
import { AttributeFunctions, type ItemAttributes } from './item-attributes.js';
import { Readmission } from './readmission.js';
import type {
  Availability,
  BatchTrace,
  FunctionRunner,
  Runner,
  RunnerSink,
  RunnerState,
  RunnerTicket,
} from './runner.js';
import { RunnerCall, SETTLED, withCappedTimeout } from './runner-call.js';
import type { RunnerSettings } from './runner-settings.js';
import { WatchedState } from './watched-state.js';

/**
 * A backend for a function that does not run on this thread. It is loaded before the first batch and may become
 * unavailable.
 */
export interface FunctionBackend {
  /** The platform name in the metadata. */
  readonly platform: string;
  readonly availability: Availability;
  /** Called once if the batcher schedules batches onto several backends. `run` runs a batch on `context.backend`. */
  createBackends?<I, R>(run: Handler<I, R>): BackendSet<I, R>;
  /** Called once, before the first batch. Rejects if the backend is not reachable. */
  load(): Promise<void>;
  /** Called when the settings change. */
  configure?(settings: Pick<RunnerSettings, 'timeoutMs'>): void;
  close(): Promise<void>;
}

export interface FunctionRunnerOptions<I, R> {
  readonly name: string;
  /** Gets up to `maxBatchSize` items, or one item if `settings.batchable` is false. Returns one result per item. */
  readonly handler: Handler<I, R>;
  readonly settings: RunnerSettings;
  /** As in a batcher. `costOf` and `groupOf` are ignored without batching. */
  readonly costOf?: BatcherOptions<I>['costOf'];
  readonly groupOf?: BatcherOptions<I>['groupOf'];
  readonly dedupeBy?: BatcherOptions<I>['dedupeBy'];
  /**
   * A batch that throws is bisected until only the faulty items fail. For functions that may receive an item twice.
   * @default false
   */
  readonly isolate?: boolean | undefined;
  /**
   * The runner owns the backend and closes it. The state of the runner follows the backend. Default: the function
   * runs on this thread.
   */
  readonly backend?: FunctionBackend | undefined;
  /** Called when `costOf`, `groupOf` or `dedupeBy` fails. The caller gets HANDLER_FAILED. */
  readonly onFault?: ((error: Error) => void) | undefined;
  /** @default the real clock */
  readonly clock?: Clock | undefined;
}

export function createFunctionRunner<I, R>(options: FunctionRunnerOptions<I, R>): Runner<I, R> {
  return new BatchingFunctionRunner(options);
}

class BatchingFunctionRunner<I, R> implements Runner<I, R> {
  readonly kind: FunctionRunner['kind'] = 'function';
  readonly isGrouped: boolean;
  readonly platform: string;
  readonly name: string;
  readonly signature = undefined;
  readonly ready: Promise<void>;
  readonly #state: WatchedState;
  readonly #backend: FunctionBackend | undefined;
  readonly #batcher: Batcher<FunctionCall<I, R>, R>;
  readonly #readmission = new Readmission<R>();
  readonly #deliveries: Deliveries<R>;
  readonly #attributes: AttributeFunctions<I>;
  readonly #clock: Clock;
  #settings: RunnerSettings;
  /** Calls rejected before they reached the batcher, which does not count them. */
  #rejectedEarly = 0;
  #failure: Error | undefined = undefined;
  #closing: Promise<void> | undefined = undefined;

  constructor(options: FunctionRunnerOptions<I, R>) {
    const { name, handler, settings, isolate, backend, clock = realClock } = options;
    const { costOf, groupOf, dedupeBy } = options;
    this.isGrouped = groupOf !== undefined;
    this.name = name;
    this.platform = backend?.platform ?? 'function';
    this.#backend = backend;
    this.#state = new WatchedState(backend === undefined ? 'ready' : 'loading');
    this.#settings = settings;
    this.#clock = clock;
    this.#deliveries = new Deliveries(clock);
    this.#attributes = new AttributeFunctions(name, options);
    const call = (calls: readonly FunctionCall<I, R>[], context: BatchContext) => {
      for (const each of calls) this.#readmission.untrack(each);
      return handler(
        calls.map(({ item }) => item),
        context,
      );
    };
    const batcherOptions: BatcherOptions<FunctionCall<I, R>> = {
      ...batchingOptions(settings, isBatching(settings)),
      name,
      costOf: costOf && (({ cost }) => cost),
      groupOf: groupOf && (({ attributes }) => attributes.group),
      dedupeBy: dedupeBy && (({ attributes }) => attributes.key),
      isolate,
      clock,
      policy: policyOf(settings.batching),
      concurrency: settings.concurrency,
    };
    const backends = backend?.createBackends?.(call);
    this.#batcher =
      backends === undefined
        ? new Batcher(call, batcherOptions)
        : new Batcher({ ...batcherOptions, backends });
    this.ready = backend === undefined ? Promise.resolve() : this.#load(backend);
    this.ready.catch(() => {}); // the state and each call report the failure
  }

  get state(): RunnerState {
    return this.#state.current;
  }

  onStateChange(listener: () => void): () => void {
    return this.#state.onChange(listener);
  }

  enqueue(item: I, sink: RunnerSink<R>, options?: EnqueueOptions): RunnerTicket {
    let attributes: ItemAttributes;
    try {
      this.#checkLoaded();
      attributes = this.#attributes.evaluate(item);
    } catch (error) {
      this.#rejectedEarly += 1;
      sink.reject(error as Error);
      return SETTLED;
    }
    return this.#admit(item, attributes, sink, withCappedTimeout(options, this.#settings.timeoutMs));
  }

  configure({ batching, timeoutMs }: RunnerSettings): void {
    const before = this.#settings;
    this.#settings = { ...before, batching, timeoutMs };
    const options = batchingOptions(this.#settings, isBatching(this.#settings));
    this.#readmission.change(this.#batcher, {
      maxCost: options.maxBatchSize as number,
      costsChange: isBatching(this.#settings) && !isBatching(before),
      options: { ...options, policy: changedPolicy(before.batching, batching) },
      undo: () => {
        this.#settings = before;
      },
      maxQueueSize: () => this.#settings.batching.maxQueueSize,
      readmit: (call) => this.#readmit(call as FunctionCall<I, R>),
    });
    this.#backend?.configure?.(this.#settings);
  }

  stats(): BatcherStats {
    const stats = this.#readmission.corrected(this.#batcher.stats());
    const { submitted, failed } = stats;
    const early = this.#rejectedEarly;
    return early === 0 ? stats : { ...stats, submitted: submitted + early, failed: failed + early };
  }

  close(options?: CloseOptions): Promise<void> {
    this.#closing ??= this.#close(options);
    return this.#closing;
  }

  async #close(options: CloseOptions | undefined): Promise<void> {
    this.#state.become('closed');
    try {
      await this.#batcher.close(options);
    } finally {
      this.#deliveries.flush();
      await this.#backend?.close();
    }
  }

  async #load(backend: FunctionBackend): Promise<void> {
    try {
      await backend.load();
    } catch (error) {
      this.#failure = error as Error;
      if (this.state === 'loading') {
        this.#state.become('failed');
        await backend.close();
      }
      throw error;
    }
    if (this.state !== 'loading') return;
    const updateState = () => {
      if (this.state === 'closed') return;
      this.#state.become(backend.availability.outage === undefined ? 'ready' : 'failed');
    };
    backend.availability.onChange(updateState);
    updateState();
  }

  #checkLoaded(): void {
    if (this.state === 'loading')
      throw new BatchwiseError('UNAVAILABLE', `${this.name}: the backend is not ready yet.`);
    if (this.#failure === undefined) return;
    // The address of the upstream is only in the cause, not in the message to callers.
    const message = `${this.name}: the upstream could not be reached.`;
    throw new BatchwiseError('UNAVAILABLE', message, { cause: this.#failure });
  }

  #admit(
    item: I,
    attributes: ItemAttributes,
    sink: RunnerSink<R>,
    options: EnqueueOptions | undefined,
  ): FunctionCall<I, R> {
    const countsAsOne = !isBatching(this.#settings);
    const cost = countsAsOne ? 1 : attributes.cost;
    const call = new FunctionCall(this.#readmission, this.#deliveries, item, attributes, cost, sink, options);
    const ticket = this.#batcher.enqueue(call, call, options);
    // All queued calls are tracked, not only those whose cost would change, so that readmission keeps their order.
    if (countsAsOne && this.#attributes.hasCostOf && !ticket.settled) this.#readmission.track(call);
    return call.admitted(ticket);
  }

  /** Admits a call again under the current limits. */
  #readmit(call: FunctionCall<I, R>): void {
    const options = call.readmissionOptions(this.#clock.now(), this.#settings.timeoutMs);
    call.readmitted(this.#admit(call.item, call.attributes, call.sink, options));
  }
}

function isBatching({ batchable, batching }: RunnerSettings): boolean {
  return batchable && batching.enabled;
}

class FunctionCall<I, R> extends RunnerCall<R> {
  readonly item: I;
  readonly attributes: ItemAttributes;

  constructor(
    readmission: Readmission<R>,
    deliveries: Deliveries<R>,
    item: I,
    attributes: ItemAttributes,
    cost: number,
    sink: RunnerSink<R>,
    options: EnqueueOptions | undefined,
  ) {
    super(readmission, deliveries, sink, options, cost);
    this.item = item;
    this.attributes = attributes;
  }

  protected traceOf({ cost, startedAt, durationMs }: BatchRecord): BatchTrace {
    return { batchSize: cost, queueMs: startedAt - this.arrivedAt, computeMs: durationMs };
  }
}
