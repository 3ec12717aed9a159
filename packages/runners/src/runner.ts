/**
 * A runner is a named backend with its own batcher. Wherever it runs, on a thread of this process or in
 * another process, those who call it see this.
 */
import type { BatcherStats, CloseOptions, EnqueueOptions } from 'batchwise';
import type { RunnerSettings } from './runner-settings.js';
import type { Signature, Tensors } from './tensor.js';

/** What a request to a model carries: one or more rows along the batch dimension, the same number in every input. */
export interface InferRequest {
  readonly inputs: Tensors;
  /** The outputs that are wanted; all of them unless given. */
  readonly outputs?: readonly string[] | undefined;
}

/** How a request fared: for the response headers and the metrics. */
export interface BatchTrace {
  /** Rows, or items, in the batch it was part of; of the largest, when it was split over several. */
  readonly batchSize: number;
  /** From arrival to the start of its (last) batch. */
  readonly queueMs: number;
  /** How long that batch took. */
  readonly computeMs: number;
}

/** Called exactly once, one or the other; may be called before `enqueue` returns. */
export interface RunnerSink<R> {
  resolve(result: R, trace: BatchTrace): void;
  reject(error: Error): void;
}

export interface RunnerTicket {
  /** Releases the caller at once with `CANCELLED`; does nothing once it is settled. */
  cancel(reason?: unknown): void;
}

export type RunnerState = 'loading' | 'ready' | 'failed' | 'closed';

export interface Runner<I = unknown, R = unknown> {
  readonly name: string;
  readonly kind: 'model' | 'function';
  readonly state: RunnerState;
  /** Why its requests are not answered at present, also where the state is `ready`: for /readyz. */
  readonly problem?: string | undefined;
  /** Calls the listener whenever the state has changed; returns a function that ends that. */
  onStateChange(listener: () => void): () => void;
  /** Resolves when it is loaded and warm; rejects when it cannot be. */
  readonly ready: Promise<void>;
  /** What a model takes and gives; undefined until it is loaded, and for functions. */
  readonly signature: Signature | undefined;
  /** What runs it, as the protocol's metadata call it: `onnxruntime_onnx`, `function`. */
  readonly platform: string;
  /** Whether the content of an item decides which others may share its batch. */
  readonly isGrouped?: boolean | undefined;
  enqueue(item: I, sink: RunnerSink<R>, options?: EnqueueOptions): RunnerTicket;
  /** Takes over what can change while it runs: everything under `batching`, and the time-out. */
  configure(settings: RunnerSettings): void;
  /** Undefined when its batcher is in another process. */
  stats(): BatcherStats | undefined;
  /** Finishes what was accepted; what is not done in time gets `CLOSED`. */
  close(options?: CloseOptions): Promise<void>;
}

export type ModelRunner = Runner<InferRequest, Tensors>;
export type FunctionRunner = Runner<unknown, unknown>;
