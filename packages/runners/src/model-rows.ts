/**
 * Converts rows of service code to the tensors of a model and back. A row is a nested array without the batch
 * dimension. With several inputs or outputs, a row is a record by name.
 */
import { BatchwiseError } from 'batchwise';
import { jsonOfTensor, tensorOfJson } from './json-elements.js';
import { rowsOfTensor, tensorOfRows } from './nested-rows.js';
import type { InferRequest, Runner } from './runner.js';
import type { Signature, Tensor, TensorSpec, Tensors } from './tensor.js';

export class ModelRows {
  readonly #runner: Pick<Runner, 'name' | 'signature'>;
  readonly #inputDim: number;
  readonly #outputDim: number;

  /** `batchDim` as in the runner's settings. */
  constructor(
    runner: Pick<Runner, 'name' | 'signature'>,
    [inputDim, outputDim]: readonly [input: number, output: number],
  ) {
    this.#runner = runner;
    this.#inputDim = inputDim;
    this.#outputDim = outputDim;
  }

  /** Whether a request may contain several rows. A model with a fixed batch dimension takes one row per request. */
  get takesMany(): boolean {
    return this.#runner.signature?.inputs.every(({ shape }) => shape[this.#inputDim] === -1) === true;
  }

  request(rows: readonly unknown[]): InferRequest {
    const { inputs } = this.#signature();
    const tensors = new Map<string, Tensor>();
    for (const spec of inputs) {
      const ofInput = inputs.length === 1 ? rows : rows.map((row, index) => partOf(row, index, spec, inputs));
      tensors.set(spec.name, this.#tensorOf(spec, ofInput));
    }
    return { inputs: tensors };
  }

  /** Returns one result per row. */
  results(answer: Tensors): unknown[] {
    const { outputs } = this.#signature();
    const [first] = outputs;
    if (first !== undefined && outputs.length === 1) return this.#rowsOf(answer, first);
    const results: Record<string, unknown>[] = [];
    for (const spec of outputs) {
      for (const [index, row] of this.#rowsOf(answer, spec).entries()) {
        results[index] ??= Object.create(null) as Record<string, unknown>;
        results[index][spec.name] = row;
      }
    }
    return results;
  }

  #tensorOf(spec: TensorSpec, rows: readonly unknown[]): Tensor {
    if (spec.content !== 'json') return tensorOfRows(spec, this.#inputDim, rows);
    return tensorOfJson(rows, (index) => `row ${index} of input ${JSON.stringify(spec.name)}`);
  }

  #rowsOf(answer: Tensors, { name, content }: TensorSpec): unknown[] {
    const tensor = answer.get(name) as Tensor;
    return content === 'json' ? jsonOfTensor(tensor) : rowsOfTensor(tensor, this.#outputDim);
  }

  #signature(): Signature {
    const { signature, name } = this.#runner;
    if (signature !== undefined) return signature;
    throw new BatchwiseError('UNAVAILABLE', `${name}: the model is not loaded.`);
  }
}

function partOf(row: unknown, index: number, { name }: TensorSpec, inputs: readonly TensorSpec[]): unknown {
  if (typeof row === 'object' && row !== null && Object.hasOwn(row, name)) {
    return (row as Record<string, unknown>)[name];
  }
  const names = inputs.map((input) => JSON.stringify(input.name)).join(', ');
  throw new BatchwiseError(
    'INVALID_ITEM',
    `row ${index}: expected a record of ${names}, but ${JSON.stringify(name)} is missing.`,
  );
}
