/** The runners as a route's handler sees them: bound to its request, so that they are cancelled with it. */
import type { Tensors } from '@batchwise/runners';
import type { EnqueueOptions } from 'batchwise';
import type {
  FunctionDeclaration,
  ModelDeclaration,
  RunnerDeclarations,
  UpstreamDeclaration,
} from './runner-declaration.js';

export interface BoundRunner<Item, Result> {
  /** One row of a model, or one item of a function. */
  predict(item: Item, options?: EnqueueOptions): Promise<Result>;
  /** Several items; the results have the same order. If one fails, the call fails. */
  predictMany(items: readonly Item[], options?: EnqueueOptions): Promise<Result[]>;
}

export interface BoundModel<Row, Prediction> extends BoundRunner<Row, Prediction> {
  /** Tensors in, tensors out, with the batch dimension. */
  infer(inputs: Tensors, options?: EnqueueOptions): Promise<Tensors>;
}

export type BoundRunners<Declared extends RunnerDeclarations> = {
  readonly [Name in keyof Declared]: Declared[Name] extends ModelDeclaration<infer Row, infer Prediction>
    ? BoundModel<Row, Prediction>
    : Declared[Name] extends UpstreamDeclaration<infer Item, infer Result>
      ? BoundModel<Item, Result>
      : Declared[Name] extends FunctionDeclaration<infer Item, infer Result>
        ? BoundRunner<Item, Result>
        : never;
};
