/** A runner as the code of a service calls it: rows in, promises out. */
import { BatchwiseError, type SubmitOptions } from 'batchwise';
import { rowsOfTensor, tensorOfRows } from './nested-rows.js';
import { PromisedAnswer } from './promised-answer.js';
import type { InferRequest, Runner } from './runner.js';
import type { Signature, Tensor, TensorSpec, Tensors } from './tensor.js';

export interface InferOptions extends SubmitOptions {
  /** The outputs that are wanted; all of them unless given. */
  readonly outputs?: readonly string[] | undefined;
}

export interface Predictor<I = unknown, R = unknown> {
  /**
   * Of a function: an item in, its result out. Of a model: a row in, its row of the output out, both as arrays
   * in arrays without the batch dimension; where there are several inputs or outputs, records of rows by name.
   */
  predict(row: I, options?: SubmitOptions): Promise<R>;
  /** One request: let in together or not at all, answered together, in order. */
  predictMany(rows: readonly I[], options?: SubmitOptions): Promise<R[]>;
  /** Of a model: tensors in, tensors out. */
  infer(inputs: Tensors, options?: InferOptions): Promise<Tensors>;
}

/** `batchDim` as in the runner's settings. */
export function predictor<I, R>(
  runner: Runner<I, R>,
  batchDim: readonly [input: number, output: number] = [0, 0],
): Predictor {
  return runner.kind === 'model'
    ? new ModelPredictor(runner as unknown as Runner<InferRequest, Tensors>, batchDim)
    : new FunctionPredictor(runner as unknown as Runner);
}

class ModelPredictor implements Predictor {
  readonly #runner: Runner<InferRequest, Tensors>;
  readonly #batchDim: readonly [input: number, output: number];

  constructor(runner: Runner<InferRequest, Tensors>, batchDim: readonly [number, number]) {
    this.#runner = runner;
    this.#batchDim = batchDim;
  }

  async predict(row: unknown, options?: SubmitOptions): Promise<unknown> {
    const [prediction] = await this.#predictTogether([row], this.#signature(), options);
    return prediction;
  }

  async predictMany(rows: readonly unknown[], options?: SubmitOptions): Promise<unknown[]> {
    checkRows(rows);
    if (rows.length === 0) return [];
    const signature = this.#signature();
    const [dim] = this.#batchDim;
    // A model that takes one row at a time is asked for each.
    if (rows.length === 1 || signature.inputs.every(({ shape }) => shape[dim] === -1)) {
      return this.#predictTogether(rows, signature, options);
    }
    const requests = rows.map((row) => this.#requestOf([row], signature));
    const answers = await askAll(this.#runner, requests, options);
    return answers.map((answer) => this.#predictionsOf(answer, signature)[0]);
  }

  infer(inputs: Tensors, options: InferOptions = {}): Promise<Tensors> {
    const { outputs, ...rest } = options;
    return ask(this.#runner, { inputs, outputs }, rest);
  }

  async #predictTogether(
    rows: readonly unknown[],
    signature: Signature,
    options: SubmitOptions | undefined,
  ): Promise<unknown[]> {
    const answer = await ask(this.#runner, this.#requestOf(rows, signature), options);
    return this.#predictionsOf(answer, signature);
  }

  #signature(): Signature {
    const { signature, name } = this.#runner;
    if (signature !== undefined) return signature;
    throw new BatchwiseError('UNAVAILABLE', `${name}: the model is not loaded.`);
  }

  #requestOf(rows: readonly unknown[], { inputs }: Signature): InferRequest {
    const [dim] = this.#batchDim;
    const tensors = new Map<string, Tensor>();
    const [first] = inputs;
    if (inputs.length === 1 && first !== undefined) {
      tensors.set(first.name, tensorOfRows(first, dim, rows));
      return { inputs: tensors };
    }
    for (const spec of inputs) {
      const ofInput = rows.map((row, index) => partOf(row, index, spec, inputs));
      tensors.set(spec.name, tensorOfRows(spec, dim, ofInput));
    }
    return { inputs: tensors };
  }

  #predictionsOf(answer: Tensors, { outputs }: Signature): unknown[] {
    const [, dim] = this.#batchDim;
    if (outputs.length === 1) return rowsOfTensor(answer.get(outputs[0]?.name as string) as Tensor, dim);
    const predictions: Record<string, unknown>[] = [];
    for (const { name } of outputs) {
      for (const [index, row] of rowsOfTensor(answer.get(name) as Tensor, dim).entries()) {
        predictions[index] ??= Object.create(null) as Record<string, unknown>;
        predictions[index][name] = row;
      }
    }
    return predictions;
  }
}

class FunctionPredictor implements Predictor {
  readonly #runner: Runner;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  predict(item: unknown, options?: SubmitOptions): Promise<unknown> {
    return ask(this.#runner, item, options);
  }

  async predictMany(items: readonly unknown[], options?: SubmitOptions): Promise<unknown[]> {
    checkRows(items);
    return askAll(this.#runner, items, options);
  }

  async infer(): Promise<Tensors> {
    const message = `${this.#runner.name}: infer() is for models; a function is asked with predict().`;
    throw new BatchwiseError('INVALID_ITEM', message);
  }
}

function ask<I, R>(runner: Runner<I, R>, item: I, options: SubmitOptions | undefined): Promise<R> {
  return new PromisedAnswer<R>(runner.name, options?.signal).of(runner, item, withoutSignal(options));
}

/** When one fails the request fails, and the others are cancelled. */
async function askAll<I, R>(
  runner: Runner<I, R>,
  items: readonly I[],
  options: SubmitOptions | undefined,
): Promise<R[]> {
  const rest = withoutSignal(options);
  const answers: PromisedAnswer<R>[] = [];
  const promises: Promise<R>[] = [];
  for (const item of items) {
    const answer = new PromisedAnswer<R>(runner.name, options?.signal);
    answers.push(answer);
    promises.push(answer.of(runner, item, rest));
    if (answer.isSettled) break; // turned away at the door, and the request with it
  }
  try {
    return await Promise.all(promises);
  } catch (error) {
    for (const answer of answers) answer.cancel('another item of the same request failed');
    throw error;
  }
}

function withoutSignal(options: SubmitOptions | undefined): SubmitOptions | undefined {
  if (options?.signal === undefined) return options;
  const { signal: _, ...rest } = options;
  return rest;
}

function checkRows(rows: readonly unknown[]): void {
  if (Array.isArray(rows)) return;
  throw new BatchwiseError('INVALID_ITEM', `predictMany(rows): expected an array, got ${typeof rows}.`);
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
