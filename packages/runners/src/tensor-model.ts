/** A model as a runner needs it: whatever computes it, it takes tensors and gives tensors. */
import type { Availability } from './availability.js';
import type { Signature, Tensors } from './tensor.js';

export interface InferCall {
  /** The outputs that are wanted; all of them unless given. */
  readonly outputs: readonly string[] | undefined;
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal | undefined;
  /**
   * How long it may take. What takes longer hangs, and must be stopped, so that the next call finds a free
   * place; the signal has fired by then.
   */
  readonly timeoutMs: number;
  /** True when nobody else will look at the inputs' data again: they may be changed or handed on. */
  readonly ownsInputs: boolean;
}

export interface TensorModel {
  /** What runs it, in the words of the protocol's metadata: `onnxruntime_onnx`. */
  readonly platform: string;
  /** Of one that is elsewhere, and may be away for a while: its runner's state follows. */
  readonly availability?: Availability | undefined;
  /** Makes it ready to infer. Called once, before anything else. */
  load(): Promise<Signature>;
  /** Called for up to `concurrency` batches at a time. Rejects with `UNAVAILABLE` when what computes it is gone. */
  infer(inputs: Tensors, call: InferCall): Promise<Tensors>;
  close(): Promise<void>;
}
