/** Runs a batch of requests on a model: concatenates the inputs, calls the model once, splits the outputs. */
import { type BatchContext, BatchwiseError, type Clock, type Results } from 'batchwise';
import { concatTensors } from './concat-tensors.js';
import { splitTensor } from './split-tensor.js';
import type { Signature, Tensor, Tensors } from './tensor.js';
import type { InferCall, TensorModel } from './tensor-model.js';

/** A request, or a part of a request, that is in one batch as a whole. */
export interface Piece {
  readonly inputs: Tensors;
  readonly outputs: readonly string[] | undefined;
  readonly rows: number;
  /** Of a part: the number of its first row in the request. */
  readonly firstRow?: number | undefined;
}

export interface BatchedModel {
  readonly name: string;
  readonly model: TensorModel;
  readonly signature: Signature;
  /** The dimensions for concatenating inputs and splitting outputs; undefined if neither is done. */
  readonly batchDim: readonly [input: number, output: number] | undefined;
  readonly clock: Clock;
  /** Called with the time spent on concatenating the inputs and splitting the outputs. */
  readonly onAssembly?: ((durationMs: number) => void) | undefined;
}

/** The handler of a model's batcher. The call is aborted after `timeoutMs`. */
export async function runModelBatch(
  batched: BatchedModel,
  pieces: readonly Piece[],
  { signal, backend }: Pick<BatchContext, 'signal' | 'backend'>,
  timeoutMs: number,
): Promise<Results<Tensors>> {
  const { batchDim, model, signature } = batched;
  try {
    const rowErrors = new Map<number, Error>();
    const onRowError = (row: number, error: Error) => void rowErrors.set(row, error);
    const call = { signal, backend, timeoutMs, onRowError };
    if (batchDim === undefined) {
      const whole = await runWhole(batched, pieces[0] as Piece, call);
      const [failed] = rowsInOrder(rowErrors);
      return [
        failed === undefined
          ? whole
          : ofRow(batched, pieces[0] as Piece, failed, rowErrors.get(failed) as Error),
      ];
    }
    const { clock, onAssembly } = batched;
    const ownsInputs = pieces.length > 1;
    const joinsAt = onAssembly === undefined ? 0 : clock.now();
    const inputs = ownsInputs ? joined(signature, pieces, batchDim[0]) : (pieces[0] as Piece).inputs;
    const joinedMs = onAssembly === undefined ? 0 : clock.now() - joinsAt;
    const outputs = await model.infer(inputs, { ...call, outputs: requestedBy(pieces), ownsInputs });
    const splitsAt = onAssembly === undefined ? 0 : clock.now();
    const results = resultsOf(batched, pieces, outputs, batchDim[1]);
    onAssembly?.(joinedMs + clock.now() - splitsAt);
    return rowErrors.size === 0 ? results : withErrors(batched, results, pieces, rowErrors);
  } catch (error) {
    if (isForWholeBatch(error, pieces)) {
      if (backend !== undefined) throw error; // the batcher passes it on to every request
      return pieces.map(() => error);
    }
    throw error;
  }
}

async function runWhole(
  batched: BatchedModel,
  piece: Piece,
  call: Pick<InferCall, 'signal' | 'backend' | 'timeoutMs' | 'onRowError'>,
): Promise<Tensors> {
  const { inputs, outputs } = piece;
  const answer = await batched.model.infer(inputs, { ...call, outputs, ownsInputs: false });
  const wanted = new Map<string, Tensor>();
  for (const name of namesOf(batched, outputs)) wanted.set(name, outputOf(batched, answer, name));
  return wanted;
}

/** A request fails with the error of its first failed row. */
function withErrors(
  batched: BatchedModel,
  results: readonly Tensors[],
  pieces: readonly Piece[],
  rowErrors: ReadonlyMap<number, Error>,
): Results<Tensors> {
  const failed = rowsInOrder(rowErrors);
  let next = 0;
  let end = 0;
  return results.map((result, index) => {
    const piece = pieces[index] as Piece;
    const start = end;
    end += piece.rows;
    const first = failed[next] as number;
    if (!(first < end)) return result;
    while ((failed[next] as number) < end) next += 1;
    return ofRow(batched, piece, first - start, rowErrors.get(first) as Error);
  });
}

/**
 * The error of a row as that of its request. It names the row if the request has others. Any exception of the model
 * has the code of one that fails a batch.
 */
function ofRow({ name }: BatchedModel, { rows, firstRow }: Piece, row: number, error: Error): Error {
  const isOnly = rows === 1 && firstRow === undefined;
  const where = isOnly ? '' : `row ${(firstRow ?? 0) + row}: `;
  if (!(error instanceof BatchwiseError))
    return new BatchwiseError('HANDLER_FAILED', `${name}: ${where}${error.message}`, { cause: error });
  return isOnly ? error : new BatchwiseError(error.code, `${where}${error.message}`, { cause: error });
}

function rowsInOrder(rowErrors: ReadonlyMap<number, Error>): number[] {
  return [...rowErrors.keys()].sort((a, b) => a - b);
}

/**
 * Whether an error applies to every request of the batch. Any other error may be caused by one request, and bisecting
 * the batch finds it. A thread that ended, or outputs that cannot be split, are not caused by a request.
 */
function isForWholeBatch(error: unknown, pieces: readonly Piece[]): error is BatchwiseError {
  if (!(error instanceof BatchwiseError)) return false;
  return error.code !== 'INVALID_ITEM' || pieces.length === 1;
}

function joined({ inputs }: Signature, pieces: readonly Piece[], dim: number): Tensors {
  const whole = new Map<string, Tensor>();
  const parts = new Array<Tensor>(pieces.length);
  for (const { name } of inputs) {
    for (let i = 0; i < pieces.length; i++) parts[i] = (pieces[i] as Piece).inputs.get(name) as Tensor;
    whole.set(name, concatTensors(parts, dim));
  }
  return whole;
}

/**
 * The union of the requested outputs. Requests with different outputs share a batch, because most models compute all
 * outputs anyway.
 */
function requestedBy(pieces: readonly Piece[]): readonly string[] | undefined {
  const first = (pieces[0] as Piece).outputs;
  let others: Set<string> | undefined;
  for (const { outputs } of pieces) {
    if (outputs === undefined) return undefined;
    if (outputs === first) continue;
    others ??= new Set(first);
    for (const name of outputs) others.add(name);
  }
  return others === undefined ? first : [...others];
}

function resultsOf(
  batched: BatchedModel,
  pieces: readonly Piece[],
  outputs: Tensors,
  dim: number,
): Tensors[] {
  const rowCounts = pieces.map(({ rows }) => rows);
  let rows = 0;
  for (const count of rowCounts) rows += count;
  const results = pieces.map(() => new Map<string, Tensor>());
  for (const name of namesOf(batched, requestedBy(pieces))) {
    const output = outputOf(batched, outputs, name);
    if (output.shape[dim] !== rows) throw wrongRows(batched.name, name, output, dim, rows);
    const parts = pieces.length === 1 ? [output] : splitTensor(output, dim, rowCounts);
    for (let i = 0; i < pieces.length; i++) {
      const { outputs: wanted } = pieces[i] as Piece;
      if (wanted === undefined || wanted.includes(name)) results[i]?.set(name, parts[i] as Tensor);
    }
  }
  return results;
}

function namesOf({ signature }: BatchedModel, wanted: readonly string[] | undefined): readonly string[] {
  return wanted ?? signature.outputs.map(({ name }) => name);
}

function outputOf({ name: runner }: BatchedModel, outputs: Tensors, name: string): Tensor {
  const output = outputs.get(name);
  if (output !== undefined) return output;
  throw new BatchwiseError('BAD_RESULT', `${runner}: the model returned no output ${JSON.stringify(name)}.`);
}

function wrongRows(
  runner: string,
  name: string,
  { shape }: Tensor,
  dim: number,
  rows: number,
): BatchwiseError {
  return new BatchwiseError(
    'BAD_RESULT',
    `${runner}: output ${JSON.stringify(name)}: expected ${rows} rows along dimension ${dim}, one for each row ` +
      `of the inputs, got shape [${shape}].`,
  );
}
