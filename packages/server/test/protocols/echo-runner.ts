/** A model that answers each output with the input of the same place; at once, or when it is told to. */
import type {
  BatchTrace,
  InferRequest,
  ModelRunner,
  RunnerSink,
  RunnerState,
  RunnerTicket,
  Signature,
  Tensor,
  Tensors,
} from '@batchwise/runners';
import type { EnqueueOptions } from 'batchwise';

export class EchoRunner implements ModelRunner {
  readonly name: string;
  readonly kind = 'model';
  readonly ready = Promise.resolve();
  readonly platform = 'onnxruntime_onnx';
  signature: Signature | undefined;
  state: RunnerState = 'ready';
  trace: BatchTrace = { batchSize: 1, queueMs: 0, computeMs: 0 };
  /** When set, requests wait for `release`. */
  isHolding = false;
  cancelled = 0;
  last: InferRequest | undefined;
  lastOptions: EnqueueOptions | undefined;
  /** What to answer instead. */
  result: Tensors | Error | undefined;
  readonly #held: (() => void)[] = [];

  constructor(name: string, signature: Signature | undefined) {
    this.name = name;
    this.signature = signature;
  }

  onStateChange(): () => void {
    return () => {};
  }

  enqueue(request: InferRequest, sink: RunnerSink<Tensors>, options?: EnqueueOptions): RunnerTicket {
    this.last = request;
    this.lastOptions = options;
    const settle = () => {
      const result = this.result ?? this.#echo(request);
      if (result instanceof Error) sink.reject(result);
      else sink.resolve(result, this.trace);
    };
    if (this.isHolding) this.#held.push(settle);
    else settle();
    return {
      cancel: () => {
        this.cancelled++;
      },
    };
  }

  release(): void {
    for (const settle of this.#held.splice(0)) settle();
  }

  #echo(request: InferRequest): Tensors {
    const outputs = new Map<string, Tensor>();
    for (const [index, { name }] of (this.signature?.outputs ?? []).entries()) {
      const source = this.signature?.inputs[index]?.name ?? '';
      const tensor = request.inputs.get(source);
      if (tensor !== undefined) outputs.set(name, tensor);
    }
    return outputs;
  }

  configure(): void {}
  stats(): undefined {
    return undefined;
  }
  async close(): Promise<void> {
    this.state = 'closed';
  }
}
