import type {
  BatchTrace,
  InferRequest,
  Runner,
  RunnerSink,
  RunnerTicket,
  Signature,
  Tensors,
} from '@batchwise/runners';
import { BatchwiseError, type EnqueueOptions } from 'batchwise';

const TRACE: BatchTrace = { batchSize: 1, queueMs: 0, computeMs: 1 };

/** Something that was asked of a fake runner and waits for the test to answer it. */
export class Asked implements RunnerTicket {
  isSettled = false;
  constructor(
    readonly item: unknown,
    readonly options: EnqueueOptions | undefined,
    private readonly sink: RunnerSink<unknown>,
  ) {}

  answer(result: unknown, trace: BatchTrace = TRACE): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.sink.resolve(result, trace);
  }

  fail(error: Error): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.sink.reject(error);
  }

  cancel(reason?: unknown): void {
    this.fail(new BatchwiseError('CANCELLED', 'cancelled', { cause: reason }));
  }
}

/** A runner that answers when the test does, or at once by `compute`. */
export class FakeRunner implements Runner {
  readonly state = 'ready';
  readonly ready = Promise.resolve();
  readonly platform = 'fake';
  readonly asked: Asked[] = [];
  readonly kind: 'model' | 'function';

  constructor(
    readonly name: string,
    readonly signature: Signature | undefined,
    private readonly compute?: (item: unknown) => unknown,
  ) {
    this.kind = signature === undefined ? 'function' : 'model';
  }

  get last(): Asked {
    const last = this.asked.at(-1);
    if (last === undefined) throw new Error(`Nothing was asked of ${this.name}.`);
    return last;
  }

  onStateChange(): () => void {
    return () => {};
  }

  enqueue(item: unknown, sink: RunnerSink<unknown>, options?: EnqueueOptions): RunnerTicket {
    const asked = new Asked(item, options, sink);
    this.asked.push(asked);
    if (this.compute !== undefined) asked.answer(this.compute(item));
    return asked;
  }

  configure(): void {}

  stats(): undefined {
    return undefined;
  }

  async close(): Promise<void> {}
}

export const IRIS: Signature = {
  inputs: [{ name: 'input', datatype: 'FP32', shape: [-1, 4] }],
  outputs: [{ name: 'probabilities', datatype: 'FP32', shape: [-1, 3] }],
};

export function inputsOf(asked: Asked): Tensors {
  return (asked.item as InferRequest).inputs;
}

/** What a model with one output answers: this many rows of it. */
export function floats(name: string, shape: readonly number[], data: readonly number[]): Tensors {
  return new Map([[name, { datatype: 'FP32', shape, data: Float32Array.from(data) }]]);
}
