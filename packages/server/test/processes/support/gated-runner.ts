/** A runner whose calls a test answers by hand. */
import {
  DEFAULT_RUNNER_SETTINGS,
  type Runner,
  type RunnerSettings,
  type RunnerSink,
  type RunnerState,
  type RunnerTicket,
  type Signature,
} from '@batchwise/runners';
import { type BatcherStats, BatchwiseError, type EnqueueOptions } from 'batchwise';

export interface GatedCall {
  readonly item: unknown;
  readonly options: EnqueueOptions | undefined;
  isCancelled: boolean;
  answer(result: unknown): void;
  fail(error: Error): void;
}

export const TRACE = { batchSize: 3, queueMs: 1.5, computeMs: 2.5 };
export const SETTINGS = DEFAULT_RUNNER_SETTINGS;

export class GatedRunner implements Runner {
  readonly name: string;
  readonly kind = 'model';
  readonly platform = 'gated';
  readonly calls: GatedCall[] = [];
  readonly configured: RunnerSettings[] = [];
  state: RunnerState = 'loading';
  signature: Signature | undefined;
  currentStats: BatcherStats | undefined;
  /** Called with each call as it comes. */
  onCall: ((call: GatedCall) => void) | undefined;
  readonly ready: Promise<void>;
  #becomeReady: () => void = () => {};
  #fail: (error: Error) => void = () => {};

  constructor(name = 'digits', isReady = true) {
    this.name = name;
    this.ready = new Promise((resolve, reject) => {
      this.#becomeReady = resolve;
      this.#fail = reject;
    });
    if (isReady) this.becomeReady();
  }

  becomeReady(): void {
    this.state = 'ready';
    this.signature = { inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 64] }], outputs: [] };
    this.#becomeReady();
  }

  becomeFailed(error: Error): void {
    this.state = 'failed';
    this.#fail(error);
  }

  onStateChange(): () => void {
    return () => {};
  }

  enqueue(item: unknown, sink: RunnerSink<unknown>, options?: EnqueueOptions): RunnerTicket {
    const call: GatedCall = {
      item,
      options,
      isCancelled: false,
      answer: (result) => sink.resolve(result, TRACE),
      fail: (error) => sink.reject(error),
    };
    this.calls.push(call);
    this.onCall?.(call);
    return {
      cancel: () => {
        call.isCancelled = true;
        sink.reject(new BatchwiseError('CANCELLED', 'cancelled'));
      },
    };
  }

  configure(settings: RunnerSettings): void {
    this.configured.push(settings);
  }

  stats(): BatcherStats | undefined {
    return this.currentStats;
  }

  async close(): Promise<void> {}
}
