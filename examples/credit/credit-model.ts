/**
 * Makes the credit-scoring model from a fixed seed. Two layers have pseudo-random weights, and the last layer is
 * fitted by ridge regression to synthetic applicants. The network is wider than the task needs: with 17 million
 * weights, one applicant takes about 5 ms and 16 applicants about 9 ms, so that batches pay.
 */
import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { featuresOf, logOddsOfDefault, randomApplicant } from './applicant.js';
import { type DenseLayer, onnxFile } from './onnx-file.js';

const FILE = fileURLToPath(new URL('out/credit.onnx', import.meta.url));
const WIDTH = 4096;
const APPLICANTS = 256;
const SEED = 7;
/** Of the ridge regression: small enough to fit the applicants, large enough for a stable solution. */
const RIDGE = 0.1;

/** The path of the model, which is made when there is none. */
export async function creditModel(): Promise<string> {
  const exists = await stat(FILE).then(
    () => true,
    () => false,
  );
  if (!exists) await writeModel();
  return FILE;
}

async function writeModel(): Promise<void> {
  const random = randomFrom(SEED);
  const applicants = Array.from({ length: APPLICANTS }, () => randomApplicant(random));
  const features = applicants.map(featuresOf);
  const hidden = [randomLayer(features[0]?.length ?? 0, WIDTH, random), randomLayer(WIDTH, WIDTH, random)];
  const activations = await outputsOf(onnxFile(hidden), features);
  const last = fittedLayer(activations, applicants.map(logOddsOfDefault));
  await mkdir(dirname(FILE), { recursive: true });
  // Another process must not see half of it.
  const ownFile = `${FILE}.${process.pid}`;
  await writeFile(ownFile, onnxFile([...hidden, last]));
  await rename(ownFile, FILE);
}

/** With weights of variance 1 / inputs, so that sums stay in the range where tanh is not flat. */
function randomLayer(inputs: number, outputs: number, random: () => number): DenseLayer {
  const limit = Math.sqrt(3 / inputs);
  const weights = new Float32Array(inputs * outputs);
  for (let i = 0; i < weights.length; i += 1) weights[i] = (2 * random() - 1) * limit;
  return { inputs, outputs, weights, bias: new Float32Array(outputs), activation: 'Tanh' };
}

async function outputsOf(model: Buffer, rows: readonly (readonly number[])[]): Promise<Float32Array[]> {
  // Here, so that processes which find the model on the disk do not load the runtime.
  const { InferenceSession, Tensor } = await import('onnxruntime-node');
  const session = await InferenceSession.create(model);
  const input = new Tensor('float32', Float32Array.from(rows.flat()), [rows.length, rows[0]?.length ?? 0]);
  const { y } = await session.run({ x: input });
  const data = y?.data as Float32Array;
  await session.release();
  return rows.map((_, row) => data.subarray(row * WIDTH, (row + 1) * WIDTH));
}

/** Ridge regression in its dual form: as many unknowns as there are applicants, not as there are inputs. */
function fittedLayer(inputs: readonly Float32Array[], targets: readonly number[]): DenseLayer {
  const mean = targets.reduce((sum, target) => sum + target, 0) / targets.length;
  const gram = inputs.map((a, i) => inputs.map((b, j) => dot(a, b) + (i === j ? RIDGE : 0)));
  const shares = solved(
    gram,
    targets.map((target) => target - mean),
  );
  const weights = new Float32Array(WIDTH);
  for (const [i, input] of inputs.entries()) {
    for (const [k, value] of input.entries()) weights[k] = (weights[k] ?? 0) + (shares[i] ?? 0) * value;
  }
  return { inputs: WIDTH, outputs: 1, weights, bias: Float32Array.of(mean), activation: 'Sigmoid' };
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

/** Gaussian elimination of a symmetric, positive definite matrix, which needs no pivots. */
function solved(matrix: readonly number[][], right: readonly number[]): number[] {
  const rows = matrix.map((row, i) => Float64Array.from([...row, right[i] ?? 0]));
  const size = rows.length;
  const at = (row: number, column: number) => rows[row]?.[column] ?? 0;
  for (let pivot = 0; pivot < size; pivot += 1) {
    for (let row = pivot + 1; row < size; row += 1) {
      const factor = at(row, pivot) / at(pivot, pivot);
      const target = rows[row] as Float64Array;
      for (let column = pivot; column <= size; column += 1)
        target[column] = at(row, column) - factor * at(pivot, column);
    }
  }
  const result: number[] = new Array<number>(size).fill(0);
  for (let row = size - 1; row >= 0; row -= 1) {
    let rest = at(row, size);
    for (let column = row + 1; column < size; column += 1) rest -= at(row, column) * (result[column] ?? 0);
    result[row] = rest / at(row, row);
  }
  return result;
}

/** A 32-bit generator (mulberry32): the same numbers everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
