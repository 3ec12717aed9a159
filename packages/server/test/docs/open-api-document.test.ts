import type { ModelRunner, Signature } from '@batchwise/runners';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { OpenApiDocument, Operation, Parameter } from '../../src/docs/open-api.js';
import { currentDocument, openApiDocument } from '../../src/docs/open-api-document.js';
import { problemOf } from '../../src/http/problem.js';
import { parseInferRequest } from '../../src/protocols/infer-request.js';
import { parsePredictRequest } from '../../src/protocols/predict-request.js';
import { requestOptions } from '../../src/protocols/request-options.js';
import { RequestError } from '../../src/request-error.js';
import { defineService } from '../../src/service/define-service.js';
import { onnx } from '../../src/service/onnx.js';
import { FakeRunner, IRIS } from '../service/support/fake-runner.js';
import { openApiMistakes } from './support/open-api-mistakes.js';

const SEVERAL: Signature = {
  inputs: [
    { name: 'text', datatype: 'BYTES', shape: [-1] },
    { name: 'ids', datatype: 'INT64', shape: [-1, -1] },
    { name: 'mask', datatype: 'BOOL', shape: [-1, 2] },
    { name: 'bytes', datatype: 'UINT8', shape: [-1, 2, 2] },
  ],
  outputs: [
    { name: 'score', datatype: 'FP64', shape: [-1] },
    { name: '__proto__', datatype: 'INT8', shape: [-1, 2] },
  ],
};

const OPEN: Signature = {
  inputs: [{ name: 'rows', datatype: 'FP32', shape: [-1, -1], anyDatatype: true, anyShape: true }],
  outputs: [{ name: 'output', datatype: 'FP32', shape: [-1, -1], anyDatatype: true, anyShape: true }],
};

const WITH_EXAMPLES: Signature = {
  inputs: [
    { name: 'item', datatype: 'BYTES', shape: [-1], content: 'json', example: { text: 'A great phone' } },
    { name: 'image', datatype: 'FP32', shape: [-1, -1, 2], example: [[1, 2]] },
    { name: 'id', datatype: 'INT64', shape: [-1], example: '9007199254740993' },
  ],
  outputs: [{ name: 'score', datatype: 'FP64', shape: [-1] }],
};

const IMAGE: Signature = {
  inputs: [{ name: 'image', datatype: 'FP32', shape: [-1, 3, 224, 224] }],
  outputs: [{ name: 'classes', datatype: 'FP32', shape: [-1, 1000] }],
};

function model(name: string, signature: Signature | undefined): ModelRunner {
  return new FakeRunner(name, signature) as unknown as ModelRunner;
}

const Flower = z
  .object({ sepal_length: z.number().positive() })
  .meta({ id: 'Flower', description: 'A flower.' });
const Tree = z.object({
  value: z.number(),
  get children() {
    return z.array(Tree);
  },
});

const service = defineService({
  name: 'Flowers',
  runners: { iris: onnx('iris.onnx') },
  routes: (route) => [
    route.post('/classify', {
      summary: 'Tell the species',
      input: Flower,
      output: z.object({ label: z.string(), at: z.date() }),
      handler: () => ({ label: 'x', at: new Date(0) }),
    }),
    route.post('/pair', { input: z.object({ default: Flower, b: Flower }), handler: () => 1 }),
    route.put('/trees/{id}', { input: Tree, output: Tree, handler: (tree) => tree }),
    route.get('/trees/{id}', {
      input: z.object({
        depth: z.coerce.number().optional(),
        tag: z.string().meta({ description: 'A word.' }),
      }),
      handler: () => undefined,
    }),
    route.put('/trees-id', { input: z.object({ other: z.string() }), handler: () => 1 }),
    route.post('/odd', { input: z.custom<string>((value) => value === 1), handler: () => 1 }),
  ],
});

const TRUST = ['priority', 'tenant'] as const;

function documentOf(models: readonly ModelRunner[], trustedHeaders = TRUST): OpenApiDocument {
  const byName = new Map(models.map((runner) => [runner.name, runner]));
  return openApiDocument({ name: 'Batchwise', version: '1.2.3', service, models: byName, trustedHeaders });
}

const all = () =>
  documentOf([
    model('iris', IRIS),
    model('several', SEVERAL),
    model('open', OPEN),
    model('shown', WITH_EXAMPLES),
    model('image', IMAGE),
    model('cold', undefined),
  ]);

function operation(document: OpenApiDocument, method: string, path: string): Operation {
  const found = document.paths[path]?.[method];
  if (found === undefined) throw new Error(`There is no ${method} ${path}.`);
  return found;
}

function exampleOf(document: OpenApiDocument, path: string): unknown {
  return operation(document, 'post', path).requestBody?.content['application/json']?.example;
}

const IRIS_SHAPE = {
  type: 'array',
  prefixItems: [
    { type: 'integer', minimum: 1 },
    { type: 'integer', minimum: 4, maximum: 4 },
  ],
  minItems: 2,
  maxItems: 2,
};

/** Where there is an `enum` or a `const` without a `type` beside it. */
function untyped(value: unknown, where: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const isFault = ('enum' in value || 'const' in value) && !('type' in value);
  const parts = Object.entries(value).flatMap(([key, part]) => untyped(part, `${where}/${key}`));
  return isFault ? [where, ...parts] : parts;
}

function isTaken(headers: Record<string, string>): boolean {
  try {
    requestOptions(headers, { trustedHeaders: TRUST });
    return true;
  } catch {
    return false;
  }
}

test('the document is OpenAPI 3.1, and all its references lead somewhere', () => {
  expect(openApiMistakes(all())).toEqual([]);
  expect(openApiMistakes(JSON.parse(JSON.stringify(all())))).toEqual([]);
});

test('the inspection of this test finds what is wrong', () => {
  const broken = JSON.parse(JSON.stringify(all()));
  broken.paths['/classify'].post.operationId = 'live';
  broken.paths['/pair'].post.responses[400].$ref = '#/components/responses/None';
  broken.components.schemas.Flower.properties.sepal_length.type = 'float';
  broken.paths['/trees/{id}'].put.parameters.shift();
  expect(openApiMistakes(broken)).toEqual([
    'post /pair: #/components/responses/None: expected something that is there',
    'post /pair: 400: description: expected a text',
    'put /trees/{id}: parameters: expected one for {id}',
    'get /livez: operationId: expected one that no other has',
    'components.schemas.Flower.properties.sepal_length.type: expected a type',
  ]);
});

test('the document is made anew when a model has been loaded, and else kept', () => {
  const runner = new FakeRunner('iris', undefined);
  const models = new Map([['iris', runner as unknown as ModelRunner]]);
  const document = currentDocument({ name: 'a', version: '1', models });
  const before = document();
  expect(document()).toBe(before);
  Object.assign(runner, { signature: IRIS });
  expect(document()).not.toBe(before);
  expect(document()).toEqual(openApiDocument({ name: 'a', version: '1', models }));
  expect(document()).toBe(document());
});

test('JSON items are any value in :predict and texts in tensors', () => {
  const items: Signature = {
    inputs: [{ name: 'items', datatype: 'BYTES', shape: [-1], content: 'json' }],
    outputs: [{ name: 'output', datatype: 'BYTES', shape: [-1], content: 'json' }],
  };
  const models = new Map([['text', model('text', items)]]);
  const document = openApiDocument({ name: 'a', version: '1', models });
  expect(openApiMistakes(document)).toEqual([]);
  const bodyOf = (path: string) =>
    operation(document, 'post', path).requestBody?.content['application/json'] as {
      schema: { properties: Record<string, { items: unknown }> };
      example: unknown;
    };
  const predict = bodyOf('/v1/models/text:predict');
  const any = { description: 'Any JSON value.' };
  expect(predict.schema.properties).toMatchObject({
    instances: { type: 'array', items: any },
    inputs: { type: 'array', items: any },
  });
  const { request } = parsePredictRequest(Buffer.from(JSON.stringify(predict.example)), items);
  expect(request.inputs.get('items')?.shape).toEqual([1]);
  const { example } = bodyOf('/v2/models/text/infer');
  expect(example).toEqual({
    inputs: [{ name: 'items', datatype: 'BYTES', shape: [1], data: ['{"key":"value"}'] }],
  });
});

test('a server without a service and models has a document as well', () => {
  const document = openApiDocument({
    name: 'Batchwise',
    version: '1',
    models: new Map(),
    serverUrl: 'https://a.example/x',
  });
  expect(openApiMistakes(document)).toEqual([]);
  expect(document.info.title).toBe('Batchwise');
  expect(document.servers).toEqual([{ url: 'https://a.example/x' }]);
});

test('a route shows its schemas, its own names for them, and how it fails', () => {
  const document = all();
  const classify = operation(document, 'post', '/classify');
  expect(classify.summary).toBe('Tell the species');
  expect(Object.keys(classify.responses)).toEqual(['200', '400', '413', '415', '429', '500', '503', '504']);
  const { schemas } = document.components;
  expect(schemas?.['post_classify.input']).toEqual({ $ref: '#/components/schemas/Flower' });
  expect(schemas?.Flower).toMatchObject({ description: 'A flower.', required: ['sepal_length'] });
  expect(schemas?.['post_classify.output']).toMatchObject({
    properties: { at: { type: 'string', format: 'date-time' } },
  });
  expect(schemas?.['post_pair.input']).toMatchObject({
    properties: {
      default: { $ref: '#/components/schemas/Flower' },
      b: { $ref: '#/components/schemas/Flower' },
    },
  });
});

test('routes whose ids would be the same keep their own schemas', () => {
  const { schemas } = all().components;
  expect(schemas?.['put_trees_id_2.input']).toMatchObject({ required: ['other'] });
  expect(JSON.stringify(schemas?.['put_trees_id.input'])).not.toContain('other');
});

test('the input of a GET is shown as parameters', () => {
  const { parameters, requestBody } = operation(all(), 'get', '/trees/{id}');
  expect(parameters?.slice(0, 3)).toMatchObject([
    { name: 'id', in: 'path', required: true },
    { name: 'depth', in: 'query', required: false },
    { name: 'tag', in: 'query', required: true, description: 'A word.' },
  ]);
  expect(requestBody).toBeUndefined();
});

test('two schemas of one name are kept apart where they differ', () => {
  const twice = defineService({
    runners: {},
    routes: (route) => [
      route.post('/a', { input: z.object({ x: z.string() }).meta({ id: 'Same' }), handler: () => 1 }),
    ],
  });
  const other = z.object({ x: z.string().default('') }).meta({ id: 'Other' });
  const both = defineService({
    runners: {},
    routes: (route) => [route.post('/a', { input: other, output: other, handler: () => ({ x: '' }) })],
  });
  const { schemas } = openApiDocument({
    name: 'a',
    version: '1',
    service: both,
    models: new Map(),
  }).components;
  expect(schemas?.['post_a.input']).toEqual({ $ref: '#/components/schemas/Other' });
  expect(schemas?.['post_a.output']).toEqual({ $ref: '#/components/schemas/post_a.output.Other' });
  expect(
    openApiMistakes(openApiDocument({ name: 'a', version: '1', service: twice, models: new Map() })),
  ).toEqual([]);
});

test('a refusal tells when to try again', () => {
  expect(all().components.responses?.TooManyRequests).toMatchObject({
    headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } },
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  });
});

// The schema was written by hand and lacked `error`, where clients of the Open Inference Protocol look.
test('the schema of a problem has every member of one', () => {
  const error = new RequestError('BAD_REQUEST', 'so.', { where: 'body' });
  const names = Object.keys(JSON.parse(problemOf(error, 'id').body));
  const schema = all().components.schemas?.Problem as { properties: object } | undefined;
  expect(Object.keys(schema?.properties ?? {})).toEqual(expect.arrayContaining(names));
});

// The pattern was written by hand: it allowed 100 characters of some kinds where the server takes 128 of all that are visible.
test('the headers of a request are what the server takes', () => {
  const { Timeout, Priority, Tenant } = all().components.parameters as Record<string, Parameter>;
  const pattern = new RegExp(Tenant?.schema.pattern as string);
  const tenants = fc.oneof(fc.string({ maxLength: 3 }), fc.string({ minLength: 120, maxLength: 136 }));
  fc.assert(
    fc.property(tenants, (tenant) => {
      expect(isTaken({ 'batchwise-tenant': tenant })).toBe(pattern.test(tenant));
    }),
  );
  const { minimum, maximum } = (Priority as Parameter).schema as { minimum: number; maximum: number };
  fc.assert(
    fc.property(fc.integer({ min: -200, max: 200 }), (priority) => {
      const isAllowed = priority >= minimum && priority <= maximum;
      expect(isTaken({ 'batchwise-priority': String(priority) })).toBe(isAllowed);
    }),
  );
  expect(Timeout?.schema).toEqual({ type: 'number', exclusiveMinimum: 0 });
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (ms) => {
      expect(isTaken({ 'batchwise-timeout-ms': String(ms) })).toBe(ms > 0);
    }),
  );
});

test('only headers that the server trusts are in the document', () => {
  const names = (document: OpenApiDocument) =>
    JSON.stringify(document).match(/batchwise-(priority|tenant)/g) ?? [];
  expect(names(all())).toEqual(['batchwise-priority', 'batchwise-tenant']);
  const plain = openApiDocument({
    name: 'a',
    version: '1',
    service,
    models: new Map([['iris', model('iris', IRIS)]]),
  });
  expect(names(plain)).toEqual([]);
  expect(Object.keys(plain.components.parameters ?? {})).toEqual(['Timeout']);
  expect(openApiMistakes(plain)).toEqual([]);
});

test('a model shows what its signature says', () => {
  const { requestBody } = operation(all(), 'post', '/v1/models/iris:predict');
  expect(requestBody?.content['application/json']).toMatchObject({
    schema: {
      properties: {
        instances: {
          minItems: 1,
          items: { type: 'array', minItems: 4, maxItems: 4, items: { type: 'number' } },
        },
        inputs: {
          minItems: 1,
          items: { type: 'array', minItems: 4, maxItems: 4, items: { type: 'number' } },
        },
      },
    },
    example: { instances: [[0.5, 0.5, 0.5, 0.5]] },
  });
  const infer = operation(all(), 'post', '/v2/models/iris/infer').requestBody?.content['application/json'];
  expect(infer?.example).toEqual({
    inputs: [{ name: 'input', datatype: 'FP32', shape: [1, 4], data: [0.5, 0.5, 0.5, 0.5] }],
  });
});

// A tuple with `const`s, and `items: false` behind it, is a schema; but generated clients could not be made of it, or did
// not read their answers. One without parts is none.
test('a shape is a list of integers, each within its bounds', () => {
  const scalar: Signature = { inputs: IRIS.inputs, outputs: [{ name: 'sum', datatype: 'FP32', shape: [] }] };
  const document = documentOf([model('iris', IRIS), model('scalar', scalar)]);
  const { requestBody } = operation(document, 'post', '/v2/models/iris/infer');
  expect(requestBody?.content['application/json']?.schema).toMatchObject({
    properties: { inputs: { minItems: 1, maxItems: 1, items: { properties: { shape: IRIS_SHAPE } } } },
  });
  expect(operation(document, 'post', '/v2/models/scalar/infer').responses[200]).toHaveProperty(
    ['content', 'application/json', 'schema', 'properties', 'outputs', 'items', 'properties', 'shape'],
    { type: 'array', minItems: 0, maxItems: 0 },
  );
  expect(JSON.stringify(document)).not.toMatch(/"prefixItems":\[\]|"items":false/);
});

test('a value of few has a type as well, for generated clients', () => {
  expect(untyped(all(), '')).toEqual([]);
});

test.each([
  ['iris', IRIS],
  ['several', SEVERAL],
  ['open', OPEN],
  ['shown', WITH_EXAMPLES],
])('the examples of %s are requests that the server takes', (name, signature) => {
  const document = all();
  const body = (path: string) => Buffer.from(JSON.stringify(exampleOf(document, path)));
  expect(() => parsePredictRequest(body(`/v1/models/${name}:predict`), signature)).not.toThrow();
  expect(() => parseInferRequest(body(`/v2/models/${name}/infer`), {}, signature)).not.toThrow();
});

test('the example of a model is the one that is shown', () => {
  // Each JSON item was {"key":"value"}, whatever the model had as its example.
  const document = all();
  expect(exampleOf(document, '/v1/models/shown:predict')).toEqual({
    instances: [{ item: { text: 'A great phone' }, image: [[1, 2]], id: '9007199254740993' }],
  });
  expect(exampleOf(document, '/v2/models/shown/infer')).toEqual({
    inputs: [
      { name: 'item', datatype: 'BYTES', shape: [1], data: ['{"text":"A great phone"}'] },
      { name: 'image', datatype: 'FP32', shape: [1, 1, 2], data: [1, 2] },
      { name: 'id', datatype: 'INT64', shape: [1], data: ['9007199254740993'] },
    ],
  });
});

test('an example that the model may reject is called generated', () => {
  const document = all();
  const noteOf = (path: string) => operation(document, 'post', path).requestBody?.description;
  for (const path of ['/v1/models/open:predict', '/v2/models/open/infer'])
    expect(noteOf(path)).toMatch(/^The example is generated, and the model may reject it/);
  for (const name of ['iris', 'shown']) expect(noteOf(`/v1/models/${name}:predict`)).toBe(undefined);
});

test('what is too large to show, or not known yet, has no example to make up', () => {
  const document = all();
  expect(exampleOf(document, '/v1/models/image:predict')).toEqual({});
  expect(exampleOf(document, '/v2/models/cold/infer')).toEqual({});
  expect(JSON.stringify(document).length).toBeLessThan(200_000);
});

test('a model of any name has a path that leads to it', () => {
  const document = documentOf([model('a b/{c}', IRIS), model('a-b', IRIS), model('a.b', IRIS)]);
  expect(openApiMistakes(document)).toEqual([]);
  expect(document.paths).toHaveProperty(['/v2/models/a%20b%2F%7Bc%7D/infer']);
});
