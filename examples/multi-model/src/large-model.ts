/**
 * A model of models/ as a function over rows. These models take less than a millisecond per batch, so each batch
 * also waits for as long as a large model on an accelerator takes. For a model of your own, write
 * `onnx('model.onnx', { batchable: true })` instead.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { BatchwiseError } from 'batchwise';
import { InferenceSession, Tensor } from 'onnxruntime-node';

export interface LargeModelOptions {
  /** Of one row. */
  readonly shape: readonly number[];
  readonly batchMs: number;
}

type Rows = readonly (readonly number[])[];

/** One array of probabilities per row. A row of the wrong length fails alone. */
export function largeModel(name: string, { shape, batchMs }: LargeModelOptions) {
  const file = fileURLToPath(new URL(`../../../models/${name}.onnx`, import.meta.url));
  const rowLength = shape.reduce((product, size) => product * size, 1);
  const invalid = (row: readonly number[]) =>
    new BatchwiseError('INVALID_ITEM', `${name}: expected ${rowLength} numbers, got ${row.length}.`);
  let loading: Promise<InferenceSession> | undefined;

  return async (rows: Rows, { signal }: { readonly signal: AbortSignal }): Promise<(number[] | Error)[]> => {
    loading ??= InferenceSession.create(file);
    const session = await loading;
    const valid = rows.filter((row) => row.length === rowLength);
    if (valid.length === 0) return rows.map(invalid);
    const input = new Tensor('float32', Float32Array.from(valid.flat()), [valid.length, ...shape]);
    const [outputs] = await Promise.all([session.run({ input }), sleep(batchMs, undefined, { signal })]);
    const probabilities = outputs.probabilities?.data as Float32Array;
    const width = probabilities.length / valid.length;
    let next = 0;
    return rows.map((row) => {
      if (row.length !== rowLength) return invalid(row);
      const from = width * next++;
      return Array.from(probabilities.subarray(from, from + width));
    });
  };
}
