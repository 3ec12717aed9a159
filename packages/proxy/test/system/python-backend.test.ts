/** examples/python-backend on Debian's Python: alone, and behind the proxy. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import {
  Client,
  type ClientDuplexStream,
  credentials,
  makeClientConstructor,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { describe, expect, onTestFinished, test } from 'vitest';
import { batchesOf, proxied } from '../support/proxied.js';
import { examplePath, python, startPythonExample } from '../support/python-example.js';

const SIXTEEN = Array.from({ length: 16 }, (_, i) => i / 8 - 1);

interface Answer {
  readonly status: number;
  readonly details: string;
  readonly scores: readonly number[];
}

function serviceClient(
  file: string,
  service: string,
  port: number,
): Record<string, (...args: unknown[]) => never> {
  const definition = loadSync(examplePath(file), { defaults: true, keepCase: true, longs: Number })[service];
  const ServiceClient = makeClientConstructor(definition as unknown as ServiceDefinition, service);
  const client = new ServiceClient(`127.0.0.1:${port}`, credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
  });
  onTestFinished(() => client.close());
  return client as never;
}

function inferenceClient(port: number) {
  const client = serviceClient('inference.proto', 'example.Inference', port);
  return {
    compute: (features: readonly number[]) =>
      new Promise<Answer>((resolve) => {
        client.Compute?.({ features }, (error: ServiceError | null, answer?: { scores: number[] }) =>
          resolve({
            status: error?.code ?? 0,
            details: error?.details ?? '',
            scores: answer?.scores ?? [],
          }),
        );
      }),
    batchedCompute: (rows: readonly (readonly number[])[]) =>
      new Promise<{ scores: number[][]; itemErrors: unknown[]; status: number }>((resolve) => {
        const call = client.BatchedCompute?.() as unknown as ClientDuplexStream<
          { features: readonly number[] },
          { scores: number[] }
        >;
        const scores: number[][] = [];
        let itemErrors: unknown[] = [];
        call.on('metadata', (metadata) => {
          itemErrors = metadata.get('batchwise-item-error');
        });
        call.on('data', (answer) => scores.push(answer.scores));
        call.on('error', () => {}); // reported by the status
        call.on('status', ({ code }) => resolve({ scores, itemErrors, status: code }));
        for (const features of rows) call.write({ features });
        call.end();
      }),
  };
}

/** Distinct rows of sixteen numbers. */
function rows(count: number): number[][] {
  return Array.from({ length: count }, (_, row) => SIXTEEN.map((x) => x * (1 + row / count)));
}

describe('batched_server.py', () => {
  test('answers a stream in order with the same answers as single items', async () => {
    const { port } = await startPythonExample('batched_server.py');
    const client = inferenceClient(port);
    const batch = await client.batchedCompute(rows(100));
    expect(batch).toMatchObject({ status: status.OK, itemErrors: [] });
    expect(batch.scores.length).toBe(100);
    for (const [i, row] of rows(100).entries()) {
      const alone = await client.compute(row);
      expect(alone.scores.length).toBe(4);
      alone.scores.forEach((score, k) => void expect(batch.scores[i]?.[k]).toBeCloseTo(score, 5));
    }
  });

  test('an invalid item fails alone, in a batch and by itself', async () => {
    const { port } = await startPythonExample('batched_server.py');
    const client = inferenceClient(port);
    const { scores, itemErrors, status: code } = await client.batchedCompute([SIXTEEN, [1, 2], SIXTEEN, []]);
    expect(code).toBe(status.OK);
    expect(scores.map(({ length }) => length)).toEqual([4, 4, 4, 4]);
    expect(itemErrors).toEqual([
      '1 3 features%3A%20expected%2016%20numbers%2C%20got%202, 3 3 features%3A%20expected%2016%20numbers%2C%20got%200',
    ]);
    expect(await client.compute([1, 2])).toMatchObject({
      status: status.INVALID_ARGUMENT,
      details: 'features: expected 16 numbers, got 2',
    });
  });

  // grpcio parses a message before the service receives it, and ends the stream if the message is invalid.
  test('undecodable bytes fail alone, and the others of the batch get their answers', async () => {
    const backend = await startPythonExample('batched_server.py');
    const { port } = await proxied(backend, batchesOf(3));
    const good = inferenceClient(port);
    const hostile = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
    onTestFinished(() => hostile.close());
    const asIs = (bytes: Buffer) => bytes;
    const garbage = new Promise<ServiceError | null>((resolve) => {
      const path = '/example.Inference/Compute';
      hostile.makeUnaryRequest(path, asIs, asIs, Buffer.alloc(13, 0xff), (error) => resolve(error));
    });
    const answers = await Promise.all([good.compute(SIXTEEN), good.compute(SIXTEEN)]);
    expect(answers.map(({ status: code }) => code)).toEqual([status.OK, status.OK]);
    expect(await garbage).toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: 'expected an Input, got bytes that are none',
    });
  });

  // All complete messages exceed the header limit of a peer.
  test('messages of many invalid items are truncated to a header below 12 KiB', async () => {
    const { port } = await startPythonExample('batched_server.py');
    const client = inferenceClient(port);
    const invalid = Array.from({ length: 600 }, () => [1, 2]);
    const { scores, itemErrors, status: code } = await client.batchedCompute(invalid);
    expect(code).toBe(status.OK);
    expect(scores.length).toBe(600);
    const entries = String(itemErrors[0]);
    expect(entries.length).toBeLessThan(12 * 1024);
    expect(entries.split(', ').every((entry, i) => entry === `${i} 3 fe`)).toBe(true);
    const tooMany = await client.batchedCompute(Array.from({ length: 1000 }, () => [1, 2]));
    expect(tooMany).toMatchObject({ status: status.INVALID_ARGUMENT, scores: [] });
  });

  test('exits on SIGTERM', async () => {
    const { process } = await startPythonExample('batched_server.py');
    const exited = once(process, 'exit');
    process.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });

  test('load.py reports the number of answers', async () => {
    const { target } = await startPythonExample('batched_server.py');
    const args = [examplePath('load.py'), target, '--callers', '2', '--seconds', '1'];
    const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' };
    const { stdout } = await promisify(execFile)(python(), args, { env });
    expect(stdout).toMatch(/^[1-9]\d* answers\/s, p50 [\d.]+ ms, p99 [\d.]+ ms\n$/);
  });

  // Root cause: every caller printed a traceback, a thousand lines in all, which hid the reason.
  test('load.py reports a missing server in one line', async () => {
    const args = [examplePath('load.py'), 'unix:/missing/socket', '--callers', '2', '--seconds', '1'];
    const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' };
    const { code, stderr } = await promisify(execFile)(python(), args, { env }).catch((error) => error);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^No answer from unix:\/missing\/socket: UNAVAILABLE: .*\n$/);
  });
});

describe('batched_server.py behind the proxy', () => {
  test('callers get the same answers as without it, and invalid items fail alone', async () => {
    const backend = await startPythonExample('batched_server.py');
    const { port } = await proxied(backend, batchesOf(16));
    const direct = inferenceClient(backend.port);
    const client = inferenceClient(port);
    const asked = rows(16).map((row, i) => (i % 5 === 3 ? row.slice(i) : row));
    const answers = await Promise.all(asked.map((row) => client.compute(row)));
    for (const [i, row] of asked.entries()) {
      const expected = await direct.compute(row);
      expect(answers[i]).toMatchObject({ status: expected.status, details: expected.details });
      expected.scores.forEach((score, k) => void expect(answers[i]?.scores[k]).toBeCloseTo(score, 5));
    }
    expect(answers.filter(({ status: code }) => code === status.INVALID_ARGUMENT).length).toBe(3);
  });

  test('a backend that is killed in the middle of a batch: UNAVAILABLE', async () => {
    const backend = await startPythonExample('batched_server.py', ['--compute-ms', '600000']);
    const { proxy, port } = await proxied(backend, batchesOf(4));
    const client = inferenceClient(port);
    const answers = rows(4).map((row) => client.compute(row));
    await expect.poll(() => JSON.stringify(proxy.stats()), { timeout: 300_000 }).toMatch(/"running":4/);
    backend.process.kill('SIGKILL');
    for (const answer of answers) expect((await answer).status).toBe(status.UNAVAILABLE);
  });
});

interface InferResponse {
  readonly model_name: string;
  readonly id: string;
  readonly outputs: readonly { name: string; datatype: string; shape: number[] }[];
  readonly raw_output_contents: readonly Buffer[];
}

describe('open_inference_server.py', () => {
  async function start() {
    const { port } = await startPythonExample('open_inference_server.py', ['--model', 'mlp']);
    const client = serviceClient('open_inference.proto', 'inference.GRPCInferenceService', port);
    return <T>(method: string, request: object) =>
      new Promise<T>((resolve, reject) => {
        client[method]?.(request, (error: ServiceError | null, answer: T) =>
          error ? reject(error) : resolve(answer),
        );
      });
  }

  function inferRequest(count: number, data: Float32Array, shape = [count, 64]) {
    return {
      model_name: 'mlp',
      id: 'first',
      inputs: [{ name: 'features', datatype: 'FP32', shape }],
      raw_input_contents: [Buffer.from(data.buffer, data.byteOffset, data.byteLength)],
    };
  }

  test('reports readiness and model metadata', async () => {
    const call = await start();
    expect(await call('ServerLive', {})).toEqual({ live: true });
    expect(await call('ServerReady', {})).toEqual({ ready: true });
    expect(await call('ModelReady', { name: 'mlp' })).toEqual({ ready: true });
    expect(await call('ModelReady', { name: 'other' })).toEqual({ ready: false });
    expect(await call('ModelMetadata', { name: 'mlp' })).toEqual({
      name: 'mlp',
      versions: ['1'],
      platform: 'numpy',
      inputs: [{ name: 'features', datatype: 'FP32', shape: [-1, 64] }],
      outputs: [{ name: 'scores', datatype: 'FP32', shape: [-1, 10] }],
    });
    await expect(call('ModelMetadata', { name: 'other' })).rejects.toMatchObject({ code: status.NOT_FOUND });
  });

  test('a batch in one message gets the same answers as its rows alone', async () => {
    const call = await start();
    const data = Float32Array.from({ length: 256 * 64 }, (_, i) => Math.sin(i));
    const all = await call<InferResponse>('ModelInfer', inferRequest(256, data));
    expect(all).toMatchObject({
      model_name: 'mlp',
      id: 'first',
      outputs: [{ name: 'scores', datatype: 'FP32', shape: [256, 10] }],
    });
    const scores = floats(all.raw_output_contents[0]);
    expect(scores.length).toBe(2560);
    for (const row of [0, 100, 255]) {
      const one = await call<InferResponse>(
        'ModelInfer',
        inferRequest(1, data.slice(64 * row, 64 * (row + 1))),
      );
      floats(one.raw_output_contents[0]).forEach(
        (score, k) => void expect(scores[10 * row + k]).toBeCloseTo(score, 4),
      );
    }
  });

  const invalid: [string, object, number, RegExp][] = [
    [
      'another model',
      { ...inferRequest(1, new Float32Array(64)), model_name: 'x' },
      status.NOT_FOUND,
      /no model "x"/,
    ],
    [
      'bytes that do not fit the shape',
      inferRequest(2, new Float32Array(64)),
      status.INVALID_ARGUMENT,
      /features: expected 512 bytes, got 256/,
    ],
    [
      "a shape that is not the model's",
      inferRequest(1, new Float32Array(32), [1, 32]),
      status.INVALID_ARGUMENT,
      /expected FP32 \[-1, 64\], got FP32 \[1, 32\]/,
    ],
    [
      'a negative shape',
      inferRequest(1, new Float32Array(64), [-1, 64]),
      status.INVALID_ARGUMENT,
      /got FP32 \[-1, 64\]/,
    ],
    [
      'no bytes',
      { ...inferRequest(1, new Float32Array(64)), raw_input_contents: [] },
      status.INVALID_ARGUMENT,
      /expected one for each of the 1 inputs, got 0/,
    ],
    [
      'an unknown output',
      { ...inferRequest(1, new Float32Array(64)), outputs: [{ name: 'x' }] },
      status.INVALID_ARGUMENT,
      /got "x"/,
    ],
  ];

  test('rejects an invalid request with the reason', async () => {
    const call = await start();
    for (const [, request, code, details] of invalid) {
      await expect(call('ModelInfer', request)).rejects.toMatchObject({
        code,
        details: expect.stringMatching(details),
      });
    }
  });
});

function floats(bytes: Buffer | undefined): number[] {
  if (bytes === undefined) throw new Error('expected an output');
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}
