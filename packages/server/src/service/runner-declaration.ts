/** What a service module says of its runners. Where and how they run is the server's business. */
import type { Handler, LiveOptions } from 'batchwise';
import type { DeclaredSettings } from './runner-options.js';

/** A model in a file: ONNX or Python. */
export interface ModelDeclaration<Row, Prediction> {
  readonly kind: 'onnx' | 'python';
  /** As written until the service is loaded from a file; absolute from then on. */
  readonly path: string;
  /** Of a Python file: the class, function or variable. Undefined: the only one. */
  readonly object?: string | undefined;
  readonly settings: DeclaredSettings;
  /** For the compiler only: what `predict` takes and gives. */
  readonly predicts?: (row: Row) => Prediction;
}

/** A backend elsewhere: where, its settings say. */
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

/** What only a function can be asked: its items are known to it alone. The words are those of the core. */
export type FunctionBatching<Item> = Pick<LiveOptions<Item>, 'costOf' | 'groupOf' | 'dedupeBy' | 'isolate'>;

export type RunnerDeclaration =
  | ModelDeclaration<never, unknown>
  | FunctionDeclaration<never, unknown>
  | UpstreamDeclaration<never, unknown>;

/** By the name that the configuration, the metrics and the handlers use. */
export type RunnerDeclarations = Readonly<Record<string, RunnerDeclaration>>;
