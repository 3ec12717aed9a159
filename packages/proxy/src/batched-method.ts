/** What a backend gives for each method that it serves in batches, and what it is told besides the items. */
import type { Metadata, MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

export interface BatchedContext {
  /** The path of the method that was called: `/pkg.Service/BatchedCompute`. */
  readonly path: string;
  /** Fires when nobody waits for the answers any more: the caller is gone, or its deadline or `handlerTimeoutMs` has passed. */
  readonly signal: AbortSignal;
  /** What the caller sent; from a proxy, the entries that all items share. */
  readonly metadata: Metadata;
  /** Undefined when the caller gave none. */
  readonly deadline: Date | undefined;
  /** The address that the call came from, not that of the clients behind a proxy. */
  readonly peer: string;
}

/** As many results as items, in their order. One that is an `Error` fails its item only. */
export type BatchedMethod<Input, Output> = (
  items: Input[],
  context: BatchedContext,
) => BatchedResults<Output> | PromiseLike<BatchedResults<Output>>;

export type BatchedResults<Output> = readonly (Output | Error)[];

/** By the name of the unary method, `Compute` or `compute`, typed as the definition is. */
export type BatchedMethods<Definition extends ServiceDefinition> = {
  readonly [Name in keyof Definition as
    | Name
    | Uncapitalize<Name & string>]?: Definition[Name] extends MethodDefinition<infer Input, infer Output>
    ? BatchedMethod<Input, Output>
    : never;
};
