/** A model without a model: it answers what the test says, when the test says. */
import {
  type InferRequest,
  type ModelRunner,
  type RunnerSink,
  type RunnerState,
  type RunnerTicket,
  type Signature,
  type Tensors,
  WatchedState,
} from '@batchwise/runners';
import { BatchwiseError, type EnqueueOptions } from 'batchwise';

export interface HeldCall {
  readonly item: InferRequest;
  readonly options: EnqueueOptions;
  isCancelled: boolean;
  /** With its inputs, unless given. */
  answer(results?: Tensors): void;
  fail(error: Error): void;
}

export class FakeRunner implements ModelRunner {
  readonly kind = 'model';
  readonly platform = 'fake';
  readonly ready = Promise.resolve();
  readonly name: string;
  readonly calls: HeldCall[] = [];
  readonly #state = new WatchedState('ready');
  signature: Signature | undefined;
  readonly #onCall: (call: HeldCall) => void;
  readonly #waiting: (() => void)[] = [];

  constructor(name: string, onCall: (call: HeldCall) => void, signature?: Signature) {
    this.name = name;
    this.signature = signature;
    this.#onCall = onCall;
  }

  get state(): RunnerState {
    return this.#state.current;
  }

  set state(state: RunnerState) {
    this.#state.become(state);
  }

  onStateChange(listener: () => void): () => void {
    return this.#state.onChange(listener);
  }

  enqueue(item: InferRequest, sink: RunnerSink<Tensors>, options: EnqueueOptions = {}): RunnerTicket {
    let isSettled = false;
    const settle = (how: () => void) => {
      if (isSettled) return;
      isSettled = true;
      how();
    };
    const call: HeldCall = {
      item,
      options,
      isCancelled: false,
      answer: (results = item.inputs) =>
        settle(() => sink.resolve(results, { batchSize: 3, queueMs: 1.23456, computeMs: 4.5 })),
      fail: (error) => settle(() => sink.reject(error)),
    };
    this.calls.push(call);
    this.#onCall(call);
    for (const wake of this.#waiting.splice(0)) wake();
    return {
      cancel: () => {
        if (isSettled) return;
        call.isCancelled = true;
        call.fail(new BatchwiseError('CANCELLED', 'cancelled'));
        for (const wake of this.#waiting.splice(0)) wake();
      },
    };
  }

  /** Resolves as soon as something that happened to a call makes it true. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  configure(): void {}

  stats(): undefined {
    return undefined;
  }

  async close(): Promise<void> {}
}

export const echo = (name: string, signature?: Signature) =>
  new FakeRunner(name, (call) => call.answer(), signature);
export const gated = (name: string) => new FakeRunner(name, () => {});
export const failing = (name: string, error: Error) => new FakeRunner(name, (call) => call.fail(error));
