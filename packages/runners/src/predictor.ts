/** The interface of a runner for service code: rows in, promises out. */
import { BatchwiseError, type SubmitOptions } from 'batchwise';
import { ModelRows } from './model-rows.js';
import { PromisedAnswer } from './promised-answer.js';
import type { InferRequest, Runner } from './runner.js';
import type { Tensors } from './tensor.js';

export interface InferOptions extends SubmitOptions {
  /** The requested outputs. Default: all outputs. */
  readonly outputs?: readonly string[] | undefined;
}

export interface Predictor<I = unknown, R = unknown> {
  /**
   * For a function: takes an item and returns its result. For a model: takes a row and returns the row of the output,
   * both as nested arrays without the batch dimension. With several inputs or outputs, a row is a record by name.
   */
  predict(row: I, options?: SubmitOptions): Promise<R>;
  /** One request: its rows are admitted all or none, and the results are in order. */
  predictMany(rows: readonly I[], options?: SubmitOptions): Promise<R[]>;
  /** For a model: takes and returns tensors. */
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
    const answers = await submitAll(this.#runner, requests, options);
    return answers.map((answer) => this.#rows.results(answer)[0]);
  }

  infer(inputs: Tensors, options: InferOptions = {}): Promise<Tensors> {
    const { outputs, ...rest } = options;
    return submit(this.#runner, { inputs, outputs }, rest);
  }

  async #predictTogether(rows: readonly unknown[], options: SubmitOptions | undefined): Promise<unknown[]> {
    const answer = await submit(this.#runner, this.#rows.request(rows), options);
    return this.#rows.results(answer);
  }
}

class FunctionPredictor implements Predictor {
  readonly #runner: Runner;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  predict(item: unknown, options?: SubmitOptions): Promise<unknown> {
    return submit(this.#runner, item, options);
  }

  async predictMany(items: readonly unknown[], options?: SubmitOptions): Promise<unknown[]> {
    checkRows(items);
    return submitAll(this.#runner, items, options);
  }

  async infer(): Promise<Tensors> {
    const message = `${this.#runner.name}: infer() is for models; use predict() for a function.`;
    throw new BatchwiseError('INVALID_ITEM', message);
  }
}

function submit<I, R>(runner: Runner<I, R>, item: I, options: SubmitOptions | undefined): Promise<R> {
  return new PromisedAnswer<R>(runner.name, options?.signal).of(runner, item, withoutSignal(options));
}

/** If one item fails, the request fails and the other items are cancelled. */
async function submitAll<I, R>(
  runner: Runner<I, R>,
  items: readonly I[],
  options: SubmitOptions | undefined,
): Promise<R[]> {
  const rest = withoutSignal(options);
  const { signal } = options ?? {};
  const answers: PromisedAnswer<R>[] = [];
  const promises: Promise<R>[] = [];
  const cancelAll = (reason: unknown) => {
    for (const answer of answers) answer.cancel(reason);
  };
  // One listener for the request: Node warns of a leak when a signal has more than ten.
  const onAbort = () => cancelAll(signal?.reason);
  signal?.addEventListener('abort', onAbort);
  try {
    for (const item of items) {
      const answer = new PromisedAnswer<R>(runner.name, signal?.aborted ? signal : undefined);
      answers.push(answer);
      promises.push(answer.of(runner, item, rest));
      if (answer.isSettled) break; // rejected at admission, which rejects the request
    }
    return await Promise.all(promises);
  } catch (error) {
    cancelAll('another item of the same request failed');
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
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
