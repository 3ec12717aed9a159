/** A function over arrays with a batcher of its own. */
import {
  Batcher,
  type BatcherOptions,
  type BatcherStats,
  type BatchRecord,
  type Clock,
  type CloseOptions,
  type EnqueueOptions,
  type Handler,
  type Sink,
} from 'batchwise';
import { batchingOptions, changedPolicy, policyOf } from './batching-options.js';
import type { FunctionRunner, Runner, RunnerSink, RunnerState, RunnerTicket } from './runner.js';
import type { RunnerSettings } from './runner-settings.js';

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
  /** @default the real one */
  readonly clock?: Clock | undefined;
}

export function createFunctionRunner<I, R>(options: FunctionRunnerOptions<I, R>): Runner<I, R> {
  return new BatchingFunctionRunner(options);
}

class BatchingFunctionRunner<I, R> implements Runner<I, R> {
  readonly kind: FunctionRunner['kind'] = 'function';
  readonly platform = 'function';
  readonly name: string;
  readonly signature = undefined;
  readonly ready = Promise.resolve();
  state: RunnerState = 'ready';

  readonly #batcher: Batcher<I, R>;
  #settings: RunnerSettings;

  constructor(options: FunctionRunnerOptions<I, R>) {
    const { name, handler, settings, costOf, groupOf, dedupeBy, isolate, clock } = options;
    this.name = name;
    this.#settings = settings;
    this.#batcher = new Batcher<I, R>(handler, {
      ...batchingOptions(settings, isBatching(settings)),
      name,
      costOf: costOf && ((item) => (isBatching(this.#settings) ? costOf(item) : 1)),
      groupOf,
      dedupeBy,
      isolate,
      clock,
      policy: policyOf(settings.batching),
      concurrency: settings.concurrency,
    });
  }

  enqueue(item: I, sink: RunnerSink<R>, options?: EnqueueOptions): RunnerTicket {
    const call = new FunctionCall(sink);
    call.ticket = this.#batcher.enqueue(item, call, this.#inTime(options));
    return call.ticket;
  }

  configure({ batching, timeoutMs }: RunnerSettings): void {
    const before = this.#settings;
    const after = { ...before, batching, timeoutMs };
    const policy = changedPolicy(before.batching, batching);
    this.#batcher.configure({ ...batchingOptions(after, isBatching(after)), policy });
    this.#settings = after;
  }

  stats(): BatcherStats {
    return this.#batcher.stats();
  }

  close(options?: CloseOptions): Promise<void> {
    this.state = 'closed';
    return this.#batcher.close(options);
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

class FunctionCall<R> implements Sink<R> {
  ticket: (RunnerTicket & { readonly arrivedAt: number }) | undefined = undefined;
  readonly #sink: RunnerSink<R>;

  constructor(sink: RunnerSink<R>) {
    this.#sink = sink;
  }

  resolve(result: R, { cost, startedAt, durationMs }: BatchRecord): void {
    const queueMs = startedAt - (this.ticket?.arrivedAt ?? startedAt);
    this.#sink.resolve(result, { batchSize: cost, queueMs, computeMs: durationMs });
  }

  reject(error: Error): void {
    this.#sink.reject(error);
  }
}
