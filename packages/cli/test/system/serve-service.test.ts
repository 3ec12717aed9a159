/** The example service, from the command line. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonOf, problemIn } from './support/http-client.js';
import {
  expectInferred,
  expectProbabilities,
  expectTraced,
  inferBody,
  labelsOf,
  largest,
  MODELS,
  type Sample,
  samplesOf,
} from './support/model-samples.js';
import { root, Serving } from './support/serving.js';

interface Species {
  readonly label: string;
  readonly probabilities: Readonly<Record<string, number>>;
}

let server: Serving;

beforeAll(async () => {
  server = await Serving.start([join(root, 'examples/service/service.ts')]);
});

afterAll(() => Serving.endAll());

const flowerOf = ({ input: [sepal_length, sepal_width, petal_length, petal_width] }: Sample) => ({
  sepal_length,
  sepal_width,
  petal_length,
  petal_width,
});

const imageOf = ({ input }: Sample) =>
  Array.from({ length: 8 }, (_, row) => input.slice(row * 8, row * 8 + 8));

function expectSpecies({ label, probabilities }: Species, sample: Sample): void {
  const labels = labelsOf('iris');
  expect(label).toBe(labels[largest(sample.probabilities)]);
  expectProbabilities(
    labels.map((name) => probabilities[name] ?? Number.NaN),
    [sample],
  );
}

test('tells every sample flower, asked all at once', async () => {
  await Promise.all(
    samplesOf('iris').map(async (sample) => {
      const answer = await server.client.post('/classify', flowerOf(sample));
      expect(answer.status).toBe(200);
      expectTraced(answer);
      expectSpecies(jsonOf<Species>(answer), sample);
    }),
  );
});

test('asks two models for one request', async () => {
  const digits = samplesOf('digits');
  await Promise.all(
    samplesOf('iris').map(async (flower, i) => {
      const digit = digits[i] as Sample;
      const answer = await server.client.post('/both', { flower: flowerOf(flower), image: imageOf(digit) });
      const both = jsonOf<{ flower: Species; digit: { label: number; probability: number } }>(answer);
      expectSpecies(both.flower, flower);
      expect(both.digit.label).toBe(largest(digit.probabilities));
      expect(Math.abs(both.digit.probability - Math.max(...digit.probabilities))).toBeLessThan(1e-5);
    }),
  );
});

test('takes the body that comes with it', async () => {
  const body = readFileSync(join(root, 'examples/service/both.json'));
  expect((await server.client.post('/both', body)).status).toBe(200);
});

test('its models are at the protocols too', async () => {
  for (const name of MODELS) {
    const samples = samplesOf(name);
    expectInferred(await server.client.post(`/v2/models/${name}/infer`, inferBody(name, samples)), samples);
  }
});

const flower = { sepal_length: 6.5, sepal_width: 3.2, petal_length: 5.1, petal_width: 2 };

test.each<[string, unknown, string]>([
  ['another type', { ...flower, sepal_width: '3.2' }, 'body.sepal_width: expected number, got "3.2".'],
  ['out of range', { ...flower, petal_width: -1 }, 'body.petal_width: '],
  ['nothing', { ...flower, petal_length: undefined }, 'body.petal_length: '],
  ['no object', [flower], 'body: '],
])('says where there is %s', async (_what, body, start) => {
  const problem = problemIn(await server.client.post('/classify', body));
  expect(problem).toMatchObject({ status: 400, code: 'BAD_REQUEST' });
  expect(problem.detail.startsWith(start)).toBe(true);
});

test('says that a body is no JSON, that a path is unknown, that a method is not allowed', async () => {
  expect(problemIn(await server.client.post('/classify', Buffer.from('{"sepal')))).toMatchObject({
    status: 400,
  });
  expect(problemIn(await server.client.post('/classified', flower))).toMatchObject({ status: 404 });
  const wrong = await server.client.get('/classify');
  expect([problemIn(wrong).status, wrong.headers.allow]).toEqual([405, 'POST']);
});

test('its routes are documented', async () => {
  const { paths } = jsonOf<{ paths: Record<string, object> }>(await server.client.get('/docs.json'));
  expect(Object.keys(paths['/classify'] ?? {})).toEqual(['post']);
  expect(Object.keys(paths['/both'] ?? {})).toEqual(['post']);
});
