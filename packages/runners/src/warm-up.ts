/**
 * Made-up requests before the first real one. The first run of a model is slow, and how long batches of each
 * size take is better known before somebody is refused or held for want of it.
 */
import { BatchwiseError, type Clock, type CurvePoint } from 'batchwise';
import { rowDimOf } from './batch-dim.js';
import { mostRows } from './batching-options.js';
import { elementCount, newData } from './datatype.js';
import type { RunnerSettings } from './runner-settings.js';
import type { Signature, Tensor, TensorSpec, Tensors } from './tensor.js';
import type { TensorModel } from './tensor-model.js';

/** Larger batches are left to be learned: made-up rows in their thousands are memory for nothing. */
const MOST_ROWS = 1024;

export interface WarmUp {
  readonly name: string;
  readonly model: TensorModel;
  readonly signature: Signature;
  readonly settings: RunnerSettings;
  readonly clock: Clock;
  /** False once nobody waits for it any more. */
  isWanted(): boolean;
}

/** Gives what it measured: the median for each size. Nothing after a single round, which is the slow one. */
export async function warmUp(warming: WarmUp): Promise<CurvePoint[]> {
  const { signature, settings } = warming;
  const rowDim = rowDimOf(signature, settings);
  const points: CurvePoint[] = [];
  let works = 0;
  for (const rows of sizesOf(settings, rowDim !== undefined)) {
    if (!warming.isWanted()) break;
    const inputs = madeUpInputs(signature, rowDim, rows);
    let durationMs: number | undefined;
    try {
      durationMs = await measured(warming, inputs);
    } catch (error) {
      // Lengths that the model leaves open were guessed; that it does not like the guess says nothing of it.
      if (rows === 1 && leavesContentOpen(signature, rowDim) && !isOfItself(error)) return [];
      throw sizeError(warming.name, rows, works, error as Error);
    }
    works = rows;
    if (durationMs === undefined || durationMs <= 0) continue;
    points.push({ cost: rows, durationMs });
    if (durationMs > settings.batching.maxLatencyMs) break; // larger batches would be of no use
  }
  return points;
}

/** 1, 2, 4 … and the largest. */
function sizesOf({ warmup, batching }: RunnerSettings, countsRows: boolean): number[] {
  if (warmup < 1) return [];
  const sizes = [1];
  if (!countsRows || !batching.enabled) return sizes;
  const most = Math.min(mostRows(batching), MOST_ROWS);
  for (let size = 2; size < most; size *= 2) sizes.push(size);
  if (most > 1) sizes.push(most);
  return sizes;
}

/** Each round keeps all slots busy, so that all of them are warm, and as loaded as they will be. */
async function measured({ model, settings, clock }: WarmUp, inputs: Tensors): Promise<number | undefined> {
  const durations: number[] = [];
  const call = {
    outputs: undefined,
    signal: undefined,
    timeoutMs: Number.POSITIVE_INFINITY,
    ownsInputs: false,
  };
  for (let round = 0; round < settings.warmup; round++) {
    const startedAt = clock.now();
    const slots = Array.from({ length: settings.concurrency }, async () => {
      await model.infer(inputs, call);
      if (round > 0) durations.push(clock.now() - startedAt);
    });
    await Promise.all(slots);
  }
  return durations.sort((a, b) => a - b)[durations.length >> 1];
}

function madeUpInputs({ inputs }: Signature, rowDim: number | undefined, rows: number): Tensors {
  const tensors = new Map<string, Tensor>();
  for (const { name, datatype, shape: spec } of inputs) {
    const shape = spec.map((length, dim) => (length !== -1 ? length : dim === rowDim ? rows : 1));
    tensors.set(name, { datatype, shape, data: newData(datatype, elementCount(shape)) });
  }
  return tensors;
}

function leavesContentOpen({ inputs }: Signature, rowDim: number | undefined): boolean {
  const isOpen = ({ datatype, shape }: TensorSpec) =>
    datatype === 'BYTES' || shape.some((length, dim) => length === -1 && dim !== rowDim);
  return inputs.some(isOpen);
}

/** Closed, dead, away: not an answer of the model, as it is when it does not like what it is given. */
function isOfItself(error: unknown): error is BatchwiseError {
  return error instanceof BatchwiseError && error.code !== 'INVALID_ITEM';
}

function sizeError(name: string, rows: number, works: number, error: Error): BatchwiseError {
  if (isOfItself(error)) return error;
  const advice =
    rows === 1
      ? 'It was given zeros; set warmup to 0 if it cannot take those.'
      : `It takes ${works}: set batching.max_batch_size to that, or batchable to false.`;
  const message = `${name}: the model failed at warm-up with ${rows} row${rows === 1 ? '' : 's'}: ${error.message} ${advice}`;
  return new BatchwiseError('HANDLER_FAILED', message, { cause: error });
}
