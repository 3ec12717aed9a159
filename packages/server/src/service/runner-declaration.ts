/** What a service module says of its runners. Where and how they run is the server's business. */
import type { Handler, LiveOptions } from 'batchwise';
import type { DeclaredSettings } from './runner-options.js';

/** A model in a file: ONNX or Python. */
export interface ModelDeclaration<Row, Prediction> {
  readonly kind: 'onnx' | 'python';
  /** As written; absolute after the service is loaded from a file. */
  readonly path: string;
  /** The class, function or variable in a Python file. Undefined: the only one. */
  readonly object?: string | undefined;
  readonly settings: DeclaredSettings;
  /** For the compiler only: the types of `predict`. */
  readonly predicts?: (row: Row) => Prediction;
}

/** An upstream; its settings have the URL. */
export interface UpstreamDeclaration<Item, Result> {
  readonly kind: 'upstream';
  readonly settings: DeclaredSettings;
  /** For the compiler only: what `predict` takes and gives. */
  readonly predicts?: (item: Item) => Result;
}

/** A function over arrays. */
export interface FunctionDeclaration<Item, Result> {
  readonly kind: 'function';
  readonly handler: Handler<Item, Result>;
  /** Whether it runs on worker threads. */
  readonly thread: boolean;
  readonly settings: DeclaredSettings;
  readonly batcher: FunctionBatching<Item>;
}

/** Options of the batcher that only functions have. */
export type FunctionBatching<Item> = Pick<LiveOptions<Item>, 'costOf' | 'groupOf' | 'dedupeBy' | 'isolate'>;

export type RunnerDeclaration =
  | ModelDeclaration<never, unknown>
  | FunctionDeclaration<never, unknown>
  | UpstreamDeclaration<never, unknown>;

/** By name, as in the configuration, the metrics and the handlers. */
export type RunnerDeclarations = Readonly<Record<string, RunnerDeclaration>>;
