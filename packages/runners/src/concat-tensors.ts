/**
 * Concatenates the rows of many requests into one tensor. Along the first dimension this takes one allocation and one
 * copy per request. Along other dimensions the parts alternate in memory.
 */
import { elementCount, type NumericData, newData } from './datatype.js';
import type { Tensor, TensorData } from './tensor.js';

/**
 * Concatenates along `dim`. The tensors must have the same datatype and the same other dimensions, else a RangeError
 * names the difference. A single tensor is returned as it is; otherwise the data is copied.
 */
export function concatTensors(tensors: readonly Tensor[], dim: number): Tensor {
  const first = tensors[0];
  if (first === undefined) throw new RangeError('nothing to concatenate');
  if (dim < 0 || dim >= first.shape.length) {
    throw new RangeError(`a tensor of shape [${first.shape}] has no dimension ${dim}`);
  }
  if (tensors.length === 1) return first;
  let rows = 0;
  for (const tensor of tensors) {
    if (tensor.datatype !== first.datatype || !agree(tensor.shape, first.shape, dim)) {
      throw new RangeError(
        `${first.datatype} of shape [${first.shape}] and ${tensor.datatype} of shape [${tensor.shape}] ` +
          `cannot be concatenated along dimension ${dim}`,
      );
    }
    rows += tensor.shape[dim] as number;
  }
  const shape = first.shape.with(dim, rows);
  const runs = elementCount(first.shape.slice(0, dim));
  return { datatype: first.datatype, shape, data: joined(tensors, runs, elementCount(shape)) };
}

/** Whether two shapes are equal except in dimension `dim`. */
function agree(a: readonly number[], b: readonly number[], dim: number): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (i !== dim && a[i] !== b[i]) return false;
  return true;
}

/** Copies one contiguous stretch of each tensor in turn, `runs` times. */
function joined(tensors: readonly Tensor[], runs: number, length: number): TensorData {
  const datatype = (tensors[0] as Tensor).datatype;
  if (datatype === 'BYTES') return joinedBytes(tensors, runs);
  const data = newData(datatype, length) as Float32Array;
  let offset = 0;
  for (let run = 0; run < runs; run++) {
    for (let i = 0; i < tensors.length; i++) {
      const part = (tensors[i] as Tensor).data as Float32Array;
      const stretch = part.length / runs;
      data.set(runs === 1 ? part : part.subarray(run * stretch, (run + 1) * stretch), offset);
      offset += stretch;
    }
  }
  return data as NumericData;
}

function joinedBytes(tensors: readonly Tensor[], runs: number): readonly Uint8Array[] {
  const data: Uint8Array[] = [];
  for (let run = 0; run < runs; run++) {
    for (const tensor of tensors) {
      const part = tensor.data as readonly Uint8Array[];
      const stretch = part.length / runs;
      for (let i = run * stretch; i < (run + 1) * stretch; i++) data.push(part[i] as Uint8Array);
    }
  }
  return data;
}
