/** Models without code: every protocol gives every sample's answer, whatever shares a batch with it. */
import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProgram, testPrograms } from '../../../../scripts/test-programs.js';
import { parseExposition, sampleValue } from '../../../metrics/test/support/exposition.js';
import { InferenceClient } from '../../../server/test/grpc/support/inference-client.js';
import { jsonOf, problemIn } from './support/http-client.js';
import {
  batchSizeIn,
  binaryInfer,
  expectInferred,
  expectInferredInBinary,
  expectProbabilities,
  floatBytes,
  floatsIn,
  inferBody,
  MODELS,
  type ModelName,
  type Sample,
  samplesOf,
  shapeOf,
} from './support/model-samples.js';
import { model, Serving } from './support/serving.js';

const MAX_BATCH_SIZE = 8;

let server: Serving;
let grpc: InferenceClient;

beforeAll(async () => {
  server = await Serving.start([model('digits'), model('iris'), '--grpc-port', '0'], {
    env: { BATCHWISE__RUNNERS__BATCHING__MAX_BATCH_SIZE: String(MAX_BATCH_SIZE) },
  });
  grpc = new InferenceClient(server.grpcPort);
});

afterAll(async () => {
  grpc?.close();
  await Serving.endAll();
});

type Ask = (name: ModelName, samples: readonly Sample[]) => Promise<number>;

/** Each asks, checks the answer, and gives the size of the batch. */
const PROTOCOLS: Readonly<Record<string, Ask>> = {
  '/v2 in JSON': async (name, samples) => {
    const answer = await server.client.post(`/v2/models/${name}/infer`, inferBody(name, samples));
    expectInferred(answer, samples);
    return batchSizeIn(answer);
  },
  '/v2 in binary': async (name, samples) => {
    const { body, headers } = binaryInfer(name, samples);
    const answer = await server.client.post(`/v2/models/${name}/infer`, body, headers);
    expectInferredInBinary(answer, samples);
    return batchSizeIn(answer);
  },
  '/v1': async (name, samples) => {
    const instances = samples.map(({ input }) => nested(input, shapeOf(name, samples).slice(1)));
    const answer = await server.client.post(`/v1/models/${name}:predict`, { instances });
    expect(answer.status).toBe(200);
    expectProbabilities(jsonOf<{ predictions: number[][] }>(answer).predictions.flat(), samples);
    return batchSizeIn(answer);
  },
  'gRPC with typed contents': async (name, samples) => {
    const contents = { fp32_contents: samples.flatMap(({ input }) => input) };
    const { response, headers } = await grpc.infer({
      model_name: name,
      inputs: [{ name: 'input', datatype: 'FP32', shape: shapeOf(name, samples), contents }],
    });
    expectProbabilities(response.outputs[0].contents.fp32_contents, samples);
    return Number(headers.get('batchwise-batch-size')[0]);
  },
  'gRPC with raw contents': async (name, samples) => {
    const { response, headers } = await grpc.infer({
      model_name: name,
      inputs: [{ name: 'input', datatype: 'FP32', shape: shapeOf(name, samples) }],
      raw_input_contents: [floatBytes(samples.flatMap(({ input }) => input))],
    });
    expectProbabilities(floatsIn(response.raw_output_contents[0]), samples);
    return Number(headers.get('batchwise-batch-size')[0]);
  },
};

describe.each(Object.entries(PROTOCOLS))('%s', (_, ask) => {
  test.each(MODELS)('%s answers its samples one by one', async (name) => {
    for (const sample of samplesOf(name)) expect(await ask(name, [sample])).toBe(1);
  });

  test('both models answer all their samples at once', async () => {
    const asked = MODELS.flatMap((name) => samplesOf(name).map((sample) => ask(name, [sample])));
    for (const size of await Promise.all(asked)) expect(size).toBeLessThanOrEqual(MAX_BATCH_SIZE);
  });

  test.each(MODELS)('%s answers requests of many rows, however they are cut', async (name) => {
    const all = samplesOf(name);
    const pieces = [1, 2, 3, 5, 7, 8, 9, 17, all.length].map((rows, i) =>
      Array.from({ length: rows }, (__, row) => all[(i * 7 + row) % all.length] as Sample),
    );
    const sizes = await Promise.all(pieces.map((samples) => ask(name, samples)));
    // More rows than fit are split; the largest batch counts.
    expect(sizes.at(-1)).toBe(MAX_BATCH_SIZE);
    for (const size of sizes) expect(size).toBeLessThanOrEqual(MAX_BATCH_SIZE);
  });
});

/** As many levels as a row has dimensions. */
function nested(values: readonly number[], [length, ...rest]: readonly number[]): unknown {
  if (length === undefined) return values[0];
  const step = values.length / length;
  return Array.from({ length }, (_, i) => nested(values.slice(i * step, (i + 1) * step), rest));
}

test('requests that come together share batches', async () => {
  const samples = samplesOf('digits');
  let largest = 0;
  // Where this process is slower than the server, requests may arrive one by one: then it tries again.
  for (let round = 0; round < 100 && largest <= 1; round++) {
    const sizes = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        (PROTOCOLS['/v2 in JSON'] as Ask)('digits', [samples[i % samples.length] as Sample]),
      ),
    );
    largest = Math.max(...sizes);
  }
  expect(largest).toBeGreaterThan(1);
});

test('what is wrong with a request is told, and where', async () => {
  const wrong = inferBody('iris', samplesOf('iris').slice(0, 1));
  const [input] = wrong.inputs;
  const answer = await server.client.post('/v2/models/iris/infer', { inputs: [{ ...input, shape: [1, 5] }] });
  expect(problemIn(answer)).toMatchObject({
    status: 400,
    code: 'BAD_REQUEST',
    where: expect.stringContaining('inputs[0]'),
  });
  expect(problemIn(await server.client.post('/v2/models/rose/infer', wrong))).toMatchObject({ status: 404 });
});

describe('what there is to read', () => {
  test.each([
    '/livez',
    '/readyz',
    '/healthz',
    '/v2/health/live',
    '/v2/health/ready',
    '/v2/models/iris/ready',
  ])('%s is well', async (path) => {
    expect((await server.client.get(path)).status).toBe(200);
  });

  test('the models say what they take', async () => {
    expect(jsonOf(await server.client.get('/v2/models/digits'))).toMatchObject({
      name: 'digits',
      inputs: [{ name: 'input', datatype: 'FP32', shape: [-1, 1, 8, 8] }],
    });
    expect(await grpc.ask('ModelMetadata', { name: 'digits' })).toMatchObject({
      name: 'digits',
      inputs: [{ name: 'input', datatype: 'FP32', shape: ['-1', '1', '8', '8'] }],
    });
    expect(await grpc.health('')).toMatchObject({ status: 'SERVING' });
  });

  test('/docs.json describes both, /docs shows it', async () => {
    const document = jsonOf<{ openapi: string; paths: Record<string, unknown> }>(
      await server.client.get('/docs.json'),
    );
    expect(document.openapi).toBe('3.1.0');
    for (const name of MODELS)
      expect(Object.keys(document.paths)).toEqual(
        expect.arrayContaining([`/v2/models/${name}/infer`, `/v1/models/${name}:predict`]),
      );
    const page = await server.client.get('/docs');
    expect([page.status, page.headers['content-type']]).toEqual([200, expect.stringContaining('text/html')]);
  });

  test('/metrics holds what was done, as Prometheus wants it', async () => {
    await (PROTOCOLS['/v1'] as Ask)('iris', samplesOf('iris').slice(0, 3));
    const { body, headers } = await server.client.get('/metrics');
    expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    const families = parseExposition(body.toString());
    expect(
      sampleValue(families, 'batchwise_items_total', { runner: 'iris', outcome: 'succeeded' }),
    ).toBeGreaterThan(0);
    expect(sampleValue(families, 'batchwise_batch_size_bucket', { runner: 'iris', le: '8' })).toBe(
      sampleValue(families, 'batchwise_batch_size_count', { runner: 'iris' }),
    );
    const promtool = findProgram(testPrograms.promtool);
    if (promtool === undefined) throw new Error('no promtool: node scripts/test-requirements.js gets it');
    const { status, stdout, stderr } = spawnSync(promtool, ['check', 'metrics'], {
      input: body,
      encoding: 'utf8',
    });
    expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: '' });
  });
});
