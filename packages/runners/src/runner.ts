/**
 * A runner is a named backend with its own batcher. Its interface is the same for a thread of this process and for
 * another process.
 */
import type { BatcherStats, CloseOptions, EnqueueOptions } from 'batchwise';
import type { RunnerSettings } from './runner-settings.js';
import type { Signature, Tensors } from './tensor.js';

/** A request to a model: one or more rows along the batch dimension, the same number in every input. */
export interface InferRequest {
  readonly inputs: Tensors;
  /** The requested outputs. Default: all outputs. */
  readonly outputs?: readonly string[] | undefined;
}

/** The batch of a request, for the response headers and the metrics. */
export interface BatchTrace {
  /** Rows or items in the batch. For a request that was split: of its largest batch. */
  readonly batchSize: number;
  /** The queue wait: from arrival to the start of the (last) batch. */
  readonly queueMs: number;
  /** The duration of that batch. */
  readonly computeMs: number;
}

/** One of the two is called exactly once, possibly before `enqueue` returns. */
export interface RunnerSink<R> {
  resolve(result: R, trace: BatchTrace): void;
  reject(error: Error): void;
}

export interface RunnerTicket {
  /** Rejects the call with `CANCELLED` immediately. Does nothing after the call is settled. */
  cancel(reason?: unknown): void;
}

export type RunnerState = 'loading' | 'ready' | 'failed' | 'closed';

/** The availability of a remote backend. It may change while its runner is open. */
export interface Availability {
  /** Why the backend is unavailable; undefined while it is available. */
  readonly outage: Error | undefined;
  /** Calls the listener when the availability may have changed. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

export interface Runner<I = unknown, R = unknown> {
  readonly name: string;
  readonly kind: 'model' | 'function';
  readonly state: RunnerState;
  /** Why requests get no results at present, possibly in the state `ready`. For /readyz. */
  readonly problem?: string | undefined;
  /** Calls the listener after each change of the state. Returns a function that removes the listener. */
  onStateChange(listener: () => void): () => void;
  /** Resolves when the runner is loaded and warmed up, rejects if that fails. */
  readonly ready: Promise<void>;
  /** The inputs and outputs of a model; undefined until it is loaded, and for functions. */
  readonly signature: Signature | undefined;
  /** The platform name in the metadata of the protocol: `onnxruntime_onnx`, `function`. */
  readonly platform: string;
  /** Whether items are grouped by their content. */
  readonly isGrouped?: boolean | undefined;
  enqueue(item: I, sink: RunnerSink<R>, options?: EnqueueOptions): RunnerTicket;
  /** Applies the settings that can change at run time: everything under `batching`, and the timeout. */
  configure(settings: RunnerSettings): void;
  /** Undefined if the batcher is in another process. */
  stats(): BatcherStats | undefined;
  /** Finishes admitted requests. Requests that do not finish in time fail with `CLOSED`. */
  close(options?: CloseOptions): Promise<void>;
}

export type ModelRunner = Runner<InferRequest, Tensors>;
export type FunctionRunner = Runner<unknown, unknown>;
