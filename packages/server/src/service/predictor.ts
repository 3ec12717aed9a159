/**
 * How rows become what a runner takes and its answers become predictions, as far as a handler's calls need
 * it. Says the same as `predictor()` of the runners, but leaves the asking to the scope of the request.
 */
import {
  type InferRequest,
  type Runner,
  rowsOfTensor,
  type Signature,
  type Tensor,
  type TensorSpec,
  type Tensors,
  tensorOfRows,
} from '@batchwise/runners';
import { BatchwiseError } from 'batchwise';
import { shownValue } from './shown-value.js';

export interface Predictor {
  readonly runner: Runner;
  /** How many items a request may carry: all that are asked for together, or each for itself. */
  readonly takesMany: boolean;
  /** What to enqueue for these items: one, unless it takes many. */
  request(items: readonly unknown[]): unknown;
  /** What the answer means for each of them. */
  results(answer: unknown): unknown[];
}

/** Each item goes for itself: the runner's batcher brings them together again. */
export function functionPredictor(runner: Runner): Predictor {
  return { runner, takesMany: false, request: ([item]) => item, results: (answer) => [answer] };
}

export class ModelPredictor implements Predictor {
  readonly runner: Runner;
  readonly #inputDim: number;
  readonly #outputDim: number;

  constructor(runner: Runner, [inputDim, outputDim]: readonly [input: number, output: number]) {
    this.runner = runner;
    this.#inputDim = inputDim;
    this.#outputDim = outputDim;
  }

  /** A model whose batch dimension is fixed takes one row at a time. */
  get takesMany(): boolean {
    return this.runner.signature?.inputs.every(({ shape }) => shape[this.#inputDim] === -1) === true;
  }

  request(rows: readonly unknown[]): InferRequest {
    const { inputs } = this.#signature();
    const tensors = new Map<string, Tensor>();
    for (const spec of inputs) {
      const ofInput = inputs.length === 1 ? rows : rows.map((row, i) => namedValue(spec, row, i));
      tensors.set(spec.name, tensorOfRows(spec, this.#inputDim, ofInput));
    }
    return { inputs: tensors };
  }

  results(answer: unknown): unknown[] {
    const columns = [...(answer as Tensors)].map(([name, tensor]) => ({
      name,
      rows: rowsOfTensor(tensor, this.#outputDim),
    }));
    const [first] = columns;
    if (first === undefined || columns.length === 1) return first?.rows ?? [];
    return first.rows.map((_, i) => Object.fromEntries(columns.map(({ name, rows }) => [name, rows[i]])));
  }

  #signature(): Signature {
    const { name, signature } = this.runner;
    if (signature !== undefined) return signature;
    throw new BatchwiseError('UNAVAILABLE', `${name}: the model is not loaded yet.`);
  }
}

function namedValue({ name }: TensorSpec, row: unknown, index: number): unknown {
  if (typeof row === 'object' && row !== null && Object.hasOwn(row, name)) {
    return (row as Record<string, unknown>)[name];
  }
  throw new BatchwiseError(
    'INVALID_ITEM',
    `row ${index}: expected an object with ${JSON.stringify(name)}, got ${shownValue(row)}.`,
  );
}
