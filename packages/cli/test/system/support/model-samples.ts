/** The samples that come with the models, and what a request with some of them is answered. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Answer, jsonOf } from './http-client.js';
import { root } from './serving.js';

export interface Sample {
  readonly input: readonly number[];
  readonly probabilities: readonly number[];
}

export type ModelName = 'digits' | 'iris';

/** Rounded to six places in the file. */
const TOLERANCE = 1e-5;

interface SampleFile {
  readonly inputShape: readonly number[];
  readonly labels: readonly string[];
  readonly samples: readonly Sample[];
}

const files: Readonly<Record<ModelName, SampleFile>> = { digits: read('digits'), iris: read('iris') };

export const MODELS = ['digits', 'iris'] as const;

export const samplesOf = (name: ModelName): readonly Sample[] => files[name].samples;

export const labelsOf = (name: ModelName): readonly string[] => files[name].labels;

/** What the model says, which is not always what is true. */
export const largest = (values: readonly number[]): number => values.indexOf(Math.max(...values));

export function shapeOf(name: ModelName, samples: readonly Sample[]): number[] {
  return [samples.length, ...files[name].inputShape];
}

export function inferBody(name: ModelName, samples: readonly Sample[]) {
  const data = samples.flatMap(({ input }) => input);
  return { inputs: [{ name: 'input', datatype: 'FP32', shape: shapeOf(name, samples), data }] };
}

/** With the binary tensor extension, both ways. */
export function binaryInfer(name: ModelName, samples: readonly Sample[]) {
  const tensor = floatBytes(samples.flatMap(({ input }) => input));
  const head = Buffer.from(
    JSON.stringify({
      inputs: [
        {
          name: 'input',
          datatype: 'FP32',
          shape: shapeOf(name, samples),
          parameters: { binary_data_size: tensor.length },
        },
      ],
      outputs: [{ name: 'probabilities', parameters: { binary_data: true } }],
    }),
  );
  return {
    body: Buffer.concat([head, tensor]),
    headers: {
      'content-type': 'application/octet-stream',
      'inference-header-content-length': String(head.length),
    },
  };
}

export function floatBytes(values: readonly number[]): Buffer {
  return Buffer.from(new Float32Array(values).buffer);
}

export function floatsIn(bytes: Buffer): number[] {
  return [...new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))];
}

export function expectInferred(answer: Answer, samples: readonly Sample[]): void {
  expect([answer.status, answer.status === 200 ? '' : answer.body.toString()]).toEqual([200, '']);
  expectTraced(answer);
  const { outputs } = jsonOf<{ outputs: { name: string; shape: number[]; data: number[] }[] }>(answer);
  expect(outputs).toMatchObject([{ name: 'probabilities', shape: [samples.length, expect.any(Number)] }]);
  expectProbabilities(outputs[0]?.data ?? [], samples);
}

export function expectInferredInBinary(answer: Answer, samples: readonly Sample[]): void {
  expect(answer.status).toBe(200);
  expectTraced(answer);
  expectProbabilities(
    floatsIn(answer.body.subarray(Number(answer.headers['inference-header-content-length']))),
    samples,
  );
}

/** All rows, one after the other. */
export function expectProbabilities(values: readonly number[], samples: readonly Sample[]): void {
  const expected = samples.flatMap(({ probabilities }) => probabilities);
  expect(values.length).toBe(expected.length);
  const furthest = Math.max(...values.map((value, i) => Math.abs(value - (expected[i] ?? Number.NaN))));
  expect(furthest).toBeLessThan(TOLERANCE);
}

export function expectTraced({ headers }: Answer): void {
  expect(Number(headers['batchwise-batch-size'])).toBeGreaterThanOrEqual(1);
  expect(Number(headers['batchwise-queue-ms'])).toBeGreaterThanOrEqual(0);
  expect(Number(headers['batchwise-compute-ms'])).toBeGreaterThan(0);
}

export const batchSizeIn = ({ headers }: Answer): number => Number(headers['batchwise-batch-size']);

function read(name: string): SampleFile {
  return JSON.parse(readFileSync(join(root, 'models', `${name}.json`), 'utf8'));
}
