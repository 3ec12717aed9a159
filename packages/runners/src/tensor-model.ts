/** The interface of a model for a runner: takes and returns tensors. */
import type { BackendSet, Clock, Handler } from 'batchwise';
import type { Availability } from './runner.js';
import type { Signature, Tensors } from './tensor.js';

export interface InferCall {
  /** The requested outputs. Undefined: all outputs. */
  readonly outputs: readonly string[] | undefined;
  /** Fires when all callers have cancelled. */
  readonly signal: AbortSignal | undefined;
  /**
   * The timeout of the call. A call that exceeds it hangs and must be stopped, so that the next call finds a free
   * slot.
   */
  readonly timeoutMs: number;
  /** The id of the backend that runs the batch, for a model with backends. */
  readonly backend?: string | undefined;
  /** True if the model owns the data of the inputs and may change or transfer it. */
  readonly ownsInputs: boolean;
  /** Called for a row that failed alone. The row is present in the outputs, with any content. */
  readonly onRowError?: ((row: number, error: Error) => void) | undefined;
}

export interface TensorModel {
  /** The platform name in the metadata of the protocol: `onnxruntime_onnx`. */
  readonly platform: string;
  /** Set for a remote model, which may become unavailable. The state of the runner follows it. */
  readonly availability?: Availability | undefined;
  /** An example request, known after `load()`. The warm-up repeats its first row. */
  readonly example?: Tensors | undefined;
  /** Present with `createBackends()`. */
  readonly backendIds?: readonly string[] | undefined;
  /** The number of batches that all backends run at a time. Undefined: the `concurrency` of the settings. */
  readonly slots?: number | undefined;
  /**
   * If true, the model ends a call that exceeds its `timeoutMs` and rejects it with `HANDLER_TIMEOUT`. Otherwise the
   * batcher does that, which may regard the slot as free a moment before the model has stopped the call.
   */
  readonly timesBatches?: boolean | undefined;
  /**
   * Called once, after `load()`, if the batcher schedules batches onto the backends of the model. `run` passes
   * `context.backend` to `infer()`. The model reports the health of each backend.
   */
  createBackends?<I, R>(run: Handler<I, R>, clock: Clock): BackendSet<I, R>;
  /** Prepares the model. Called once, before any other method. */
  load(): Promise<Signature>;
  /** Called for up to `concurrency` concurrent batches. Rejects with `UNAVAILABLE` if the backend cannot be reached. */
  infer(inputs: Tensors, call: InferCall): Promise<Tensors>;
  close(): Promise<void>;
}
