import { type InferRequest, shownValue, type Tensors } from '@batchwise/runners';
import { BatchwiseError, type EnqueueOptions } from 'batchwise';
import type { BoundModel } from './bound-runners.js';
import type { CallScope } from './call-scope.js';
import type { Predictor } from './predictor.js';

/** A runner, seen from one request. */
export class BoundRunner implements BoundModel<unknown, unknown> {
  readonly #predictor: Predictor;
  readonly #scope: CallScope;

  constructor(predictor: Predictor, scope: CallScope) {
    this.#predictor = predictor;
    this.#scope = scope;
  }

  predict(item: unknown, options?: EnqueueOptions): Promise<unknown> {
    const predictor = this.#predictor;
    return this.#scope.ask(predictor.runner, () => predictor.request([item]), predictor.result, options);
  }

  predictMany(items: readonly unknown[], options?: EnqueueOptions): Promise<unknown[]> {
    if (!Array.isArray(items)) {
      const message = `predictMany(items): expected an array, got ${shownValue(items)}.`;
      return Promise.reject(new BatchwiseError('INVALID_ITEM', message));
    }
    if (items.length === 0) return Promise.resolve([]);
    const predictor = this.#predictor;
    if (!predictor.takesMany) {
      const all = Promise.all(items.map((item) => this.predict(item, options)));
      // As for a single one: nobody may be waiting for it yet.
      all.catch(() => {});
      return all;
    }
    return this.#scope.ask(
      predictor.runner,
      () => predictor.request(items),
      (answer) => predictor.results(answer),
      options,
    );
  }

  infer(inputs: Tensors, options?: EnqueueOptions): Promise<Tensors> {
    const request: InferRequest = { inputs };
    return this.#scope.ask(
      this.#predictor.runner,
      () => request,
      (answer) => answer as Tensors,
      options,
    );
  }
}
