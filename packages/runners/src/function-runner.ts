/** A function over arrays with a batcher of its own. */
import {
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
import type { Availability } from './availability.js';
import { batchingOptions, changedPolicy, policyOf } from './batching-options.js';
import { Deliveries } from './deliveries.js';
import { type ItemAnswers, ItemQuestions } from './item-questions.js';
import { Readmission } from './readmission.js';
import type { BatchTrace, FunctionRunner, Runner, RunnerSink, RunnerState, RunnerTicket } from './runner.js';
import { RunnerCall } from './runner-call.js';
import type { RunnerSettings } from './runner-settings.js';
import { WatchedState } from './watched-state.js';

/** Where a function runs that is elsewhere: it has to be found first, and may be away for a while. */
export interface FunctionBackend {
  /** As metadata call it. */
  readonly platform: string;
  readonly availability: Availability;
  /** Called once, before the first batch. Rejects when it cannot be found. */
  load(): Promise<void>;
  /** Told when the settings change while it runs. */
  configure?(settings: Pick<RunnerSettings, 'timeoutMs'>): void;
  close(): Promise<void>;
}

export interface FunctionRunnerOptions<I, R> {
  readonly name: string;
  /** Gets up to `maxBatchSize` items, one where `settings.batchable` is false, and gives as many results. */
  readonly handler: Handler<I, R>;
  readonly settings: RunnerSettings;
  /** As those of a batcher. `costOf` and `groupOf` count only where items are put together. */
  readonly costOf?: BatcherOptions<I>['costOf'];
  readonly groupOf?: BatcherOptions<I>['groupOf'];
  readonly dedupeBy?: BatcherOptions<I>['dedupeBy'];
  /**
   * A batch that throws is taken apart and re-run, until only the guilty items fail. For functions that may
   * see an item twice.
   * @default false
   */
  readonly isolate?: boolean | undefined;
  /** The runner's own from now on; its state follows. Without one, the function is here. */
  readonly backend?: FunctionBackend | undefined;
  /** Told when `costOf`, `groupOf` or `dedupeBy` fails: the caller learns only that something did. */
  readonly onFault?: ((error: Error) => void) | undefined;
  /** @default the real one */
  readonly clock?: Clock | undefined;
}

/** For those who are turned away before they are in: there is nothing to cancel. */
const SETTLED: RunnerTicket = { cancel() {} };

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
  readonly #questions: ItemQuestions<I>;
  readonly #clock: Clock;
  #settings: RunnerSettings;
  /** Calls that failed before they were in: the batcher does not know of them. */
  #failedOutside = 0;
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
    this.#questions = new ItemQuestions(name, options);
    const call = (calls: readonly FunctionCall<I, R>[], context: BatchContext) => {
      for (const each of calls) this.#readmission.left(each);
      return handler(
        calls.map(({ item }) => item),
        context,
      );
    };
    this.#batcher = new Batcher<FunctionCall<I, R>, R>(call, {
      ...batchingOptions(settings, isBatching(settings)),
      name,
      costOf: costOf && (({ cost }) => cost),
      groupOf: groupOf && (({ answers }) => answers.group),
      dedupeBy: dedupeBy && (({ answers }) => answers.key),
      isolate,
      clock,
      policy: policyOf(settings.batching),
      concurrency: settings.concurrency,
    });
    this.ready = backend === undefined ? Promise.resolve() : this.#load(backend);
    this.ready.catch(() => {}); // told by its state, and to whoever sends something
  }

  get state(): RunnerState {
    return this.#state.current;
  }

  onStateChange(listener: () => void): () => void {
    return this.#state.onChange(listener);
  }

  enqueue(item: I, sink: RunnerSink<R>, options?: EnqueueOptions): RunnerTicket {
    let answers: ItemAnswers;
    try {
      this.#checkLoaded();
      answers = this.#questions.ask(item);
    } catch (error) {
      this.#failedOutside += 1;
      sink.reject(error as Error);
      return SETTLED;
    }
    return this.#enter(item, answers, sink, this.#inTime(options));
  }

  configure({ batching, timeoutMs }: RunnerSettings): void {
    const before = this.#settings;
    this.#settings = { ...before, batching, timeoutMs };
    const options = batchingOptions(this.#settings, isBatching(this.#settings));
    this.#readmission.change(this.#batcher, {
      mostCost: options.maxBatchSize as number,
      isOtherRule: isBatching(this.#settings) && !isBatching(before),
      options: { ...options, policy: changedPolicy(before.batching, batching) },
      undo: () => {
        this.#settings = before;
      },
      maxQueueSize: () => this.#settings.batching.maxQueueSize,
      enter: (call) => this.#enterAgain(call as FunctionCall<I, R>),
    });
    this.#backend?.configure?.(this.#settings);
  }

  stats(): BatcherStats {
    const stats = this.#readmission.corrected(this.#batcher.stats());
    const { submitted, failed } = stats;
    const outside = this.#failedOutside;
    return outside === 0 ? stats : { ...stats, submitted: submitted + outside, failed: failed + outside };
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
    const look = () => {
      if (this.state === 'closed') return;
      this.#state.become(backend.availability.outage === undefined ? 'ready' : 'failed');
    };
    backend.availability.onChange(look);
    look();
  }

  #checkLoaded(): void {
    if (this.state === 'loading')
      throw new BatchwiseError('UNAVAILABLE', `${this.name}: its backend is not ready yet.`);
    if (this.#failure === undefined) return;
    // Where it was looked for is not for callers to know.
    const message = `${this.name}: the upstream could not be reached.`;
    throw new BatchwiseError('UNAVAILABLE', message, { cause: this.#failure });
  }

  #enter(
    item: I,
    answers: ItemAnswers,
    sink: RunnerSink<R>,
    options: EnqueueOptions | undefined,
  ): FunctionCall<I, R> {
    const isAlone = !isBatching(this.#settings);
    const cost = isAlone ? 1 : answers.cost;
    const call = new FunctionCall(this.#readmission, this.#deliveries, item, answers, cost, sink, options);
    const ticket = this.#batcher.enqueue(call, call, options);
    // Those who wait keep their order, so all of them, and not only those who will count as more.
    if (isAlone && this.#questions.asksCost && !ticket.settled) this.#readmission.waits(call);
    return call.entered(ticket);
  }

  /** By the limits of now. */
  #enterAgain(call: FunctionCall<I, R>): void {
    const options = call.optionsAgain(this.#clock.now(), this.#settings.timeoutMs);
    call.enteredAgain(this.#enter(call.item, call.answers, call.sink, options));
  }

  /** Nobody may take longer than the runner's time-out. */
  #inTime(options: EnqueueOptions | undefined): EnqueueOptions | undefined {
    const { timeoutMs } = this.#settings;
    if (options?.timeoutMs === undefined || !(options.timeoutMs > timeoutMs)) return options;
    return { ...options, timeoutMs };
  }
}

function isBatching({ batchable, batching }: RunnerSettings): boolean {
  return batchable && batching.enabled;
}

class FunctionCall<I, R> extends RunnerCall<R> {
  readonly item: I;
  readonly answers: ItemAnswers;

  constructor(
    readmission: Readmission<R>,
    deliveries: Deliveries<R>,
    item: I,
    answers: ItemAnswers,
    cost: number,
    sink: RunnerSink<R>,
    options: EnqueueOptions | undefined,
  ) {
    super(readmission, deliveries, sink, options, cost);
    this.item = item;
    this.answers = answers;
  }

  protected traceOf({ cost, startedAt, durationMs }: BatchRecord): BatchTrace {
    return { batchSize: cost, queueMs: startedAt - this.arrivedAt, computeMs: durationMs };
  }
}
