/**
 * Runs dummy requests before the first real one. The first run of a model is slow, and admission and batching need
 * the duration of each batch size from the start.
 */
import { BatchwiseError, type Clock, type CurvePoint } from 'batchwise';
import { rowDimOf } from './batch-dim.js';
import { maxRowsOf } from './batching-options.js';
import { concatTensors } from './concat-tensors.js';
import { elementCount, newData } from './datatype.js';
import type { RunnerSettings } from './runner-settings.js';
import { sliceTensor } from './split-tensor.js';
import type { Signature, Tensor, TensorSpec, Tensors } from './tensor.js';
import type { TensorModel } from './tensor-model.js';

/**
 * The maximum rows at warm-up. The durations of larger batches are learned from traffic: thousands of dummy rows
 * would waste memory.
 */
const MAX_ROWS = 1024;

export interface WarmUp {
  readonly name: string;
  readonly model: TensorModel;
  readonly signature: Signature;
  readonly settings: RunnerSettings;
  readonly clock: Clock;
  /** False if the runner was closed meanwhile. */
  isLoading(): boolean;
}

/** Returns the median duration for each size. Returns nothing after a single round, because the first round is slow. */
export async function warmUp(warming: WarmUp): Promise<CurvePoint[]> {
  const { model, signature, settings } = warming;
  const { example } = model;
  // The content of JSON items and tensors of any shape cannot be guessed.
  const isUnknown = ({ content, anyShape }: TensorSpec) => content === 'json' || anyShape === true;
  if (example === undefined && signature.inputs.some(isUnknown)) return [];
  const rowDim = rowDimOf(signature, settings);
  const points: CurvePoint[] = [];
  let works = 0;
  for (const rows of sizesOf(settings, rowDim !== undefined)) {
    if (!warming.isLoading()) break;
    const inputs =
      example === undefined ? dummyInputs(signature, rowDim, rows) : repeated(example, rowDim, rows);
    let durationMs: number | undefined;
    try {
      durationMs = await measured(warming, inputs);
    } catch (error) {
      // The open dimensions are guesses. A model that rejects the guess may still be valid.
      const isGuess = example === undefined && hasOpenContent(signature, rowDim);
      if (rows === 1 && isGuess && !isBackendError(error)) return [];
      throw sizeError(warming.name, rows, works, error as Error);
    }
    works = rows;
    if (durationMs === undefined || durationMs <= 0) continue;
    points.push({ cost: rows, durationMs });
    if (durationMs > settings.batching.targetLatencyMs) break; // larger batches would take even longer
  }
  return points;
}

/** 1, 2, 4 … and the largest. */
function sizesOf({ warmup, batching }: RunnerSettings, countsRows: boolean): number[] {
  if (warmup < 1) return [];
  const sizes = [1];
  if (!countsRows || !batching.enabled) return sizes;
  const most = Math.min(maxRowsOf(batching), MAX_ROWS);
  for (let size = 2; size < most; size *= 2) sizes.push(size);
  if (most > 1) sizes.push(most);
  return sizes;
}

/** Each round uses all slots, so that all are warm and the measured load is realistic. */
async function measured({ model, settings, clock }: WarmUp, inputs: Tensors): Promise<number | undefined> {
  const slots = model.backendIds ?? new Array<undefined>(settings.concurrency).fill(undefined);
  const durations: number[] = [];
  const call = {
    outputs: undefined,
    signal: undefined,
    timeoutMs: Number.POSITIVE_INFINITY,
    ownsInputs: false,
  };
  for (let round = 0; round < settings.warmup; round++) {
    const startedAt = clock.now();
    const calls = slots.map(async (backend) => {
      await model.infer(inputs, { ...call, backend });
      if (round > 0) durations.push(clock.now() - startedAt);
    });
    await Promise.all(calls);
  }
  return durations.sort((a, b) => a - b)[durations.length >> 1];
}

function dummyInputs({ inputs }: Signature, rowDim: number | undefined, rows: number): Tensors {
  const tensors = new Map<string, Tensor>();
  for (const { name, datatype, shape: spec } of inputs) {
    const shape = spec.map((length, dim) => (length !== -1 ? length : dim === rowDim ? rows : 1));
    tensors.set(name, { datatype, shape, data: newData(datatype, elementCount(shape)) });
  }
  return tensors;
}

/** The first row of the example, `rows` times; the whole example if the model does not count rows. */
function repeated(example: Tensors, rowDim: number | undefined, rows: number): Tensors {
  if (rowDim === undefined) return example;
  const tensors = new Map<string, Tensor>();
  for (const [name, tensor] of example) {
    const row = sliceTensor(tensor, rowDim, 0, 1);
    tensors.set(name, concatTensors(new Array<Tensor>(rows).fill(row), rowDim));
  }
  return tensors;
}

function hasOpenContent({ inputs }: Signature, rowDim: number | undefined): boolean {
  const isOpen = ({ datatype, shape }: TensorSpec) =>
    datatype === 'BYTES' || shape.some((length, dim) => length === -1 && dim !== rowDim);
  return inputs.some(isOpen);
}

/** Whether the backend failed (closed, ended, unavailable), and not the model with its input. */
function isBackendError(error: unknown): error is BatchwiseError {
  return error instanceof BatchwiseError && error.code !== 'INVALID_ITEM';
}

function sizeError(name: string, rows: number, works: number, error: Error): BatchwiseError {
  if (isBackendError(error)) return error;
  const advice =
    rows === 1
      ? 'The input was all zeros; set warmup to 0 if the model cannot process zeros.'
      : `Batches of ${works} work: set batching.max_batch_size to ${works}, or batchable to false.`;
  const message = `${name}: the model failed at warm-up with ${rows} row${rows === 1 ? '' : 's'}: ${error.message} ${advice}`;
  return new BatchwiseError('HANDLER_FAILED', message, { cause: error });
}
