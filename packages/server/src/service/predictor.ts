/**
 * How items become what a runner takes and its answers become predictions, as far as a handler's calls need
 * it: the asking is left to the scope of the request.
 */
import { ModelRows, type Runner, type Tensors } from '@batchwise/runners';

export interface Predictor {
  readonly runner: Runner;
  /** How many items a request may carry: all that are asked for together, or each for itself. */
  readonly takesMany: boolean;
  /** What to enqueue for these items: one, unless it takes many. */
  request(items: readonly unknown[]): unknown;
  /** What the answer means for each of them. */
  results(answer: unknown): unknown[];
  /** What it means where there is one. A function of its own, for all requests: many may be waiting. */
  readonly result: (answer: unknown) => unknown;
}

/** Each item goes for itself: the runner's batcher brings them together again. */
export function functionPredictor(runner: Runner): Predictor {
  return {
    runner,
    takesMany: false,
    request: ([item]) => item,
    results: (answer) => [answer],
    result: (answer) => answer,
  };
}

export function modelPredictor(
  runner: Runner,
  batchDim: readonly [input: number, output: number],
): Predictor {
  const rows = new ModelRows(runner, batchDim);
  return {
    runner,
    // What it takes is known only once it is loaded.
    get takesMany() {
      return rows.takesMany;
    },
    request: (items) => rows.request(items),
    results: (answer) => rows.results(answer as Tensors),
    result: (answer) => rows.results(answer as Tensors)[0],
  };
}
