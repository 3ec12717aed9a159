/** The models of the repository on real threads. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test } from 'vitest';
import {
  createModelRunner,
  OnnxModel,
  predictor,
  type RunnerSettings,
  type Tensor,
} from '../../src/index.js';
import { settingsWith } from '../support/settings.js';

interface Samples {
  readonly inputShape: readonly number[];
  readonly samples: readonly {
    readonly input: readonly number[];
    readonly probabilities: readonly number[];
  }[];
}

const path = (name: string) => fileURLToPath(new URL(`../../../../models/${name}`, import.meta.url));
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serving(name: string, settings: RunnerSettings) {
  const { concurrency, resources } = settings;
  const model = new OnnxModel({ file: path(`${name}.onnx`), concurrency, resources });
  const runner = createModelRunner({ name, model, settings });
  cleanups.push(() => runner.close());
  await runner.ready;
  return runner;
}

function samplesOf(name: string): Samples {
  return JSON.parse(readFileSync(path(`${name}.json`), 'utf8')) as Samples;
}

function expectClose(actual: ArrayLike<number>, expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length);
  for (let i = 0; i < expected.length; i++) {
    expect(Math.abs((actual[i] as number) - (expected[i] as number))).toBeLessThan(1e-5);
  }
}

describe.each(['digits', 'iris'])('%s returns the expected results', (name) => {
  const { samples, inputShape } = samplesOf(name);

  test.each([
    [
      'row by row, in batches',
      settingsWith({ warmup: 1, batching: { policy: 'adaptive', targetLatencyMs: 60_000 } }),
    ],
    ['row by row, without batching', settingsWith({ batching: { enabled: false, targetLatencyMs: 60_000 } })],
    [
      'row by row, on two threads',
      settingsWith({ concurrency: 2, batching: { maxBatchSize: 3, targetLatencyMs: 60_000 } }),
    ],
  ])('%s', async (_, settings) => {
    const rows = predictor(await serving(name, settings));
    const answers = await Promise.all(samples.map(({ input }) => rows.predict(Float32Array.from(input))));
    for (const [i, { probabilities }] of samples.entries())
      expectClose(answers[i] as number[], probabilities);
  });

  test.each([
    ['all rows in one batch', 1000],
    ['all rows in parts of 7', 7],
  ])('%s', async (_, maxBatchSize) => {
    const runner = await serving(
      name,
      settingsWith({ concurrency: 2, batching: { maxBatchSize, targetLatencyMs: 60_000 } }),
    );
    const data = Float32Array.from(samples.flatMap(({ input }) => input));
    const input: Tensor = { datatype: 'FP32', shape: [samples.length, ...inputShape], data };
    const before = data.slice();
    const outputs = await predictor(runner).infer(new Map([['input', input]]));
    const expected = samples.flatMap(({ probabilities }) => probabilities);
    expectClose(outputs.get('probabilities')?.data as Float32Array, expected);
    // The data of the caller is still usable.
    expect(data).toEqual(before);
  });
});

test('the signature is read from the model', async () => {
  const runner = await serving('digits', settingsWith());
  expect(runner.platform).toBe('onnxruntime_onnx');
  expect(runner.signature).toEqual({
    inputs: [{ name: 'input', datatype: 'FP32', shape: [-1, 1, 8, 8] }],
    outputs: [{ name: 'probabilities', datatype: 'FP32', shape: [-1, 10] }],
  });
});

test('rows that are views of a larger buffer are copied, and the buffer is kept', async () => {
  const runner = await serving('iris', settingsWith({ batching: { targetLatencyMs: 60_000 } }));
  const [{ input, probabilities } = { input: [], probabilities: [] }] = samplesOf('iris').samples;
  const large = new Float32Array(1000).fill(Number.NaN);
  large.set(input, 500);
  const rows = predictor(runner);
  const view = large.subarray(500, 504);
  for (const answer of [await rows.predict(view), ...(await rows.predictMany([view, view]))]) {
    expectClose(answer as number[], probabilities);
  }
  expect(Array.from(large.subarray(500, 504))).toEqual(Array.from(Float32Array.from(input)));
});

describe('the error names the file that cannot be served', () => {
  async function complaint(file: string, resources = {}): Promise<string> {
    const runner = createModelRunner({
      name: 'x',
      model: new OnnxModel({ file, resources }),
      settings: settingsWith(),
    });
    const error = await runner.ready.then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(runner.state).toBe('failed');
    await runner.close();
    return error?.message ?? 'none';
  }

  test('a missing file, a folder, an invalid model', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'batchwise-onnx-'));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    expect(await complaint(join(folder, 'none.onnx'))).toMatch(
      /none\.onnx cannot be served: there is no such file/,
    );
    expect(await complaint(folder)).toMatch(/it is not a file/);
    for (const [name, content] of [
      ['garbage.onnx', 'not a model'],
      ['empty.onnx', ''],
    ] as const) {
      await writeFile(join(folder, name), content);
      expect(await complaint(join(folder, name))).toMatch(new RegExp(`${name} cannot be served: `));
    }
  });

  test('a missing GPU, with what to do', async () => {
    expect(await complaint(path('iris.onnx'), { gpu: [7] })).toMatch(
      /GPU 7.*onnxruntime-node.*runs on the CPU/,
    );
  });
});

describe('a thread that is terminated from outside', () => {
  /** The threads started from now on. */
  function watchedWorkers(): Worker[] {
    const workers: Worker[] = [];
    const watch = (worker: Worker) => workers.push(worker);
    process.on('worker', watch);
    cleanups.push(() => process.off('worker', watch));
    return workers;
  }

  const row = Float32Array.from(samplesOf('digits').samples[0]?.input ?? []);

  test('while idle is replaced, and no request fails', async () => {
    const workers = watchedWorkers();
    const runner = await serving('digits', settingsWith({ batching: { targetLatencyMs: 60_000 } }));
    const before = await predictor(runner).predict(row);
    await workers[0]?.terminate();
    expect(await predictor(runner).predict(row)).toEqual(before);
    expect(workers).toHaveLength(2);
  });

  test('under load fails its own batch at most; all other requests succeed once', async () => {
    const workers = watchedWorkers();
    const settings = settingsWith({ concurrency: 2, batching: { maxBatchSize: 4, targetLatencyMs: 60_000 } });
    const runner = await serving('digits', settings);
    // Right after a reply, when the thread is not in native code: terminated there, it would end the process.
    workers[0]?.prependOnceListener('message', () => void workers[0]?.terminate());
    const answers = Array.from({ length: 200 }, () => predictor(runner).predict(row));
    const outcomes = await Promise.allSettled(answers);
    const lost = outcomes.filter(({ status }) => status === 'rejected');
    expect(lost.length).toBeLessThanOrEqual(4);
    for (const outcome of lost) expect(outcome).toMatchObject({ reason: { code: 'UNAVAILABLE' } });
    expect(runner.stats()).toMatchObject({
      succeeded: 200 - lost.length,
      failed: lost.length,
      queued: 0,
      running: 0,
    });
  });

  // Root cause: a thread that is terminated in native code throws there, and the exception cannot be caught.
  test('by close() during a batch does not end the process', async () => {
    for (let round = 0; round < 5; round++) {
      const workers = watchedWorkers();
      const settings = settingsWith({ batching: { maxBatchSize: 4096, targetLatencyMs: 60_000 } });
      const model = new OnnxModel({ file: path('digits.onnx') });
      const runner = createModelRunner({ name: 'digits', model, settings });
      await runner.ready;
      const exit = new Promise((resolve) => workers[0]?.once('exit', resolve));
      const answers = Array.from({ length: 4096 }, () => predictor(runner).predict(row));
      const settled = Promise.allSettled(answers);
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      await model.close();
      await runner.close();
      await settled;
      await exit;
    }
  });

  test('by close() at any moment of its start leaves no thread', async () => {
    const workers = watchedWorkers();
    const exits: Promise<unknown>[] = [];
    process.on('worker', watchExit);
    cleanups.push(() => process.off('worker', watchExit));
    function watchExit(worker: Worker): void {
      exits.push(new Promise((resolve) => worker.once('exit', resolve)));
    }
    const settings = settingsWith({ warmup: 3 });
    for (const started of [0, 1]) {
      const model = new OnnxModel({ file: path('digits.onnx') });
      const runner = createModelRunner({ name: 'digits', model, settings });
      await expect.poll(() => workers.length, { interval: 1 }).toBeGreaterThanOrEqual(started);
      await runner.close();
      await expect(runner.ready).rejects.toMatchObject({ code: 'CLOSED' });
    }
    await Promise.all(exits);
  });
});
