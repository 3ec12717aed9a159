/** Splits a tensor into the rows of many requests: views if the rows are contiguous in memory, copies otherwise. */
import { elementCount, newData } from './datatype.js';
import type { Tensor, TensorData } from './tensor.js';

/**
 * Splits along `dim` into parts with the given numbers of rows. Throws a RangeError if their sum is not the number of
 * rows.
 */
export function splitTensor(tensor: Tensor, dim: number, rowCounts: readonly number[]): Tensor[] {
  const rows = tensor.shape[dim];
  let wanted = 0;
  for (const count of rowCounts) wanted += count;
  if (rows !== wanted) {
    throw new RangeError(
      `a tensor of shape [${tensor.shape}] cannot be split into ${wanted} rows along dimension ${dim}`,
    );
  }
  const parts = new Array<Tensor>(rowCounts.length);
  let start = 0;
  let shape: readonly number[] = tensor.shape;
  for (let i = 0; i < rowCounts.length; i++) {
    const count = rowCounts[i] as number;
    // Most parts have the same size and can share a shape.
    if (shape[dim] !== count) shape = shape.with(dim, count);
    parts[i] = { datatype: tensor.datatype, shape, data: rowsOf(tensor, dim, start, start + count) };
    start += count;
  }
  return parts;
}

/** The rows from `start` up to `end` along `dim`. */
export function sliceTensor(tensor: Tensor, dim: number, start: number, end: number): Tensor {
  const shape = tensor.shape.with(dim, end - start);
  return { datatype: tensor.datatype, shape, data: rowsOf(tensor, dim, start, end) };
}

function rowsOf({ datatype, shape, data }: Tensor, dim: number, start: number, end: number): TensorData {
  const runs = dim === 0 ? 1 : elementCount(shape.slice(0, dim));
  const stretch = runs === 0 ? 0 : data.length / runs;
  const rowLength = shape[dim] === 0 ? 0 : stretch / (shape[dim] as number);
  const from = start * rowLength;
  const to = end * rowLength;
  if (datatype === 'BYTES') return bytesOf(data as readonly Uint8Array[], runs, stretch, from, to);
  const numbers = data as Float32Array;
  if (runs === 1) return numbers.subarray(from, to);
  const rows = newData(datatype, runs * (to - from)) as Float32Array;
  for (let run = 0; run < runs; run++) {
    rows.set(numbers.subarray(run * stretch + from, run * stretch + to), run * (to - from));
  }
  return rows;
}

function bytesOf(
  data: readonly Uint8Array[],
  runs: number,
  stretch: number,
  from: number,
  to: number,
): readonly Uint8Array[] {
  if (runs === 1) return data.slice(from, to);
  const rows: Uint8Array[] = [];
  for (let run = 0; run < runs; run++) {
    for (let i = from; i < to; i++) rows.push(data[run * stretch + i] as Uint8Array);
  }
  return rows;
}
