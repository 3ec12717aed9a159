/** A runner as the code of a service calls it: rows in, promises out. */
import { BatchwiseError, type SubmitOptions } from 'batchwise';
import { ModelRows } from './model-rows.js';
import { PromisedAnswer } from './promised-answer.js';
import type { InferRequest, Runner } from './runner.js';
import type { Tensors } from './tensor.js';

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
  readonly #rows: ModelRows;

  constructor(runner: Runner<InferRequest, Tensors>, batchDim: readonly [number, number]) {
    this.#runner = runner;
    this.#rows = new ModelRows(runner, batchDim);
  }

  async predict(row: unknown, options?: SubmitOptions): Promise<unknown> {
    const [prediction] = await this.#predictTogether([row], options);
    return prediction;
  }

  async predictMany(rows: readonly unknown[], options?: SubmitOptions): Promise<unknown[]> {
    checkRows(rows);
    if (rows.length === 0) return [];
    if (rows.length === 1 || this.#rows.takesMany) return this.#predictTogether(rows, options);
    const requests = rows.map((row) => this.#rows.request([row]));
    const answers = await askAll(this.#runner, requests, options);
    return answers.map((answer) => this.#rows.results(answer)[0]);
  }

  infer(inputs: Tensors, options: InferOptions = {}): Promise<Tensors> {
    const { outputs, ...rest } = options;
    return ask(this.#runner, { inputs, outputs }, rest);
  }

  async #predictTogether(rows: readonly unknown[], options: SubmitOptions | undefined): Promise<unknown[]> {
    const answer = await ask(this.#runner, this.#rows.request(rows), options);
    return this.#rows.results(answer);
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
