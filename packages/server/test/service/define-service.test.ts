import { BatchwiseError } from 'batchwise';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { defineService } from '../../src/service/define-service.js';
import { fn } from '../../src/service/fn.js';
import { onnx } from '../../src/service/onnx.js';
import type { ServiceRoute } from '../../src/service/service.js';

const double = fn(async (numbers: number[]) => numbers.map((n) => n * 2));
const handler = () => 1;

/** A definition as somebody without a compiler would write it. */
function defined(definition: unknown): unknown {
  return defineService(definition as Parameters<typeof defineService>[0]);
}

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(BatchwiseError);
    expect((error as BatchwiseError).code).toBe('INVALID_OPTION');
    return (error as Error).message;
  }
  throw new Error('nothing was thrown');
}

test('a service is a frozen description of its runners and routes', () => {
  const service = defineService({
    name: 'numbers',
    runners: { double, iris: onnx('iris.onnx', { batchable: true, batchDim: 1 }) },
    routes: (route) => [
      route.post('/double', { input: z.number(), output: z.number(), summary: 'Twice', handler: (n) => n }),
      route.get('/items/{id}', { handler }),
    ],
  });
  expect(service.name).toBe('numbers');
  expect([...service.runners.keys()]).toEqual(['double', 'iris']);
  expect(service.runners.get('iris')).toMatchObject({
    kind: 'onnx',
    path: 'iris.onnx',
    settings: { batchable: true, batchDim: [1, 1] },
  });
  expect(service.routes.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /double',
    'GET /items/{id}',
  ]);
  expect(Object.isFrozen(service)).toBe(true);
  expect(Object.isFrozen(service.routes)).toBe(true);
  expect(Object.isFrozen(service.routes[0])).toBe(true);
});

test('a handler knows the types of its input, its output, its runners and its path', () => {
  defineService({
    runners: {
      double,
      words: fn((words: string[]) => words.map((word) => word.length)),
      iris: onnx<number[], number[]>('iris.onnx'),
      untold: onnx('other.onnx'),
    },
    routes: (route) => [
      route.post('/a/{first}/{second}', {
        input: z.object({ n: z.number(), at: z.string().transform((text) => new Date(text)) }),
        output: z.object({ sum: z.number() }),
        handler: async (input, { runners, params, signal }) => {
          expectTypeOf(input).toEqualTypeOf<{ n: number; at: Date }>();
          expectTypeOf(params).toEqualTypeOf<{ readonly first: string; readonly second: string }>();
          expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
          expectTypeOf(runners.double.predict).parameter(0).toEqualTypeOf<number>();
          expectTypeOf(runners.words.predict).returns.resolves.toEqualTypeOf<number>();
          expectTypeOf(runners.words.predictMany).parameter(0).toEqualTypeOf<readonly string[]>();
          expectTypeOf(runners.iris.predict).parameter(0).toEqualTypeOf<number[]>();
          expectTypeOf(runners.iris.predictMany).returns.resolves.toEqualTypeOf<number[][]>();
          expectTypeOf(runners.untold.predict).returns.resolves.toEqualTypeOf<unknown>();
          expectTypeOf(runners.double).not.toHaveProperty('infer');
          // @ts-expect-error there is no such runner
          runners.other;
          return { sum: await runners.double.predict(input.n) };
        },
      }),
      route.post('/unchecked', {
        handler: (input) => {
          expectTypeOf(input).toEqualTypeOf<unknown>();
        },
      }),
      route.post('/wrong', {
        output: z.object({ sum: z.number() }),
        // @ts-expect-error the result must fit the output
        handler: async () => ({ sum: 'three' }),
      }),
    ],
  });
});

describe('what is wrong with a definition is said with its place:', () => {
  const runners = { double };
  const withRoute = (given: object) => ({ runners, routes: () => [given] });
  const post = (path: unknown, options: object = { handler }) => ({
    runners,
    routes: (route: { post(path: unknown, options: object): ServiceRoute }) => [route.post(path, options)],
  });

  test.each<[string, unknown, string]>([
    ['no object', 5, 'definition: expected an object, got 5.'],
    [
      'an unknown key',
      { runner: {}, runners, routes: () => [] },
      'unknown key "runner". Did you mean runners? Known are name, runners, routes',
    ],
    [
      'an empty name',
      { name: '', runners, routes: () => [] },
      'name: expected a string that is not empty, got "".',
    ],
    ['no runners', { routes: () => [] }, 'runners: expected an object, got nothing.'],
    [
      'routes that are a list',
      { runners, routes: [] },
      'routes: expected a function (route) => [route.post(…)], got an array of 0.',
    ],
    [
      'routes that return nothing',
      { runners, routes: () => {} },
      'routes: expected a function that returns an array, got nothing.',
    ],
    [
      'a runner that is a path',
      { runners: { iris: 'iris.onnx' }, routes: () => [] },
      'runners.iris: expected onnx(path, options), python(path, options), fn(handler, options) or upstream(url, options), got "iris.onnx".',
    ],
    [
      'a runner named in capitals',
      { runners: { Iris: double }, routes: () => [] },
      'runners.Iris: expected a runner name of at most 63 lower-case letters',
    ],
    [
      'a runner named like a setting',
      { runners: { batching: double }, routes: () => [] },
      'runners.batching: this name is a setting of all runners',
    ],
    [
      'a runner named like another setting',
      { runners: { timeout: double }, routes: () => [] },
      'runners.timeout: this name is a setting',
    ],
    [
      'a runner named __proto__',
      { runners: JSON.parse('{"__proto__": 1}'), routes: () => [] },
      'runners.__proto__: expected a runner name',
    ],
    [
      'a route that is no route',
      withRoute({ path: '/a', handler }),
      'routes[0]: expected a route, as route.post(path, options) returns it, got an object.',
    ],
    [
      'a path without a slash',
      post('classify'),
      'routes[0] (POST classify): path: expected a string that begins with /, got "classify".',
    ],
    [
      'a path that is no string',
      post(7),
      'routes[0] (POST ?): path: expected a string that begins with /, got 7.',
    ],
    ['a path with a query', post('/a?b=1'), 'path: expected parts of letters'],
    ['a path with an empty part', post('/a//b'), 'path: expected parts of letters'],
    ['a path with an open brace', post('/a/{b'), 'path: expected parts of letters'],
    ['a nameless part', post('/a/{}'), 'path: expected a parameter name of letters, digits and _, got "{}".'],
    ['a name twice', post('/{a}/{a}'), 'path: expected each parameter name once, got one twice.'],
    ['two names in one part', post('/{a}-{b}'), 'path: expected at most one {name} between two slashes.'],
    ['a path of the server', post('/v2/models/iris/infer'), 'path: this path is used by the server'],
    ['the metrics path', post('/metrics'), 'path: this path is used by the server'],
    [
      'a handler that is no function',
      post('/a', { handler: 'go' }),
      'routes[0] (POST /a): handler: expected a function (input, context) => result, got "go".',
    ],
    ['no handler', post('/a', {}), 'handler: expected a function (input, context) => result, got nothing.'],
    [
      'an input that is no schema',
      post('/a', { input: { n: 'number' }, handler }),
      'routes[0] (POST /a): input: expected a zod schema, got an object.',
    ],
    [
      'a schema of zod 3',
      post('/a', { output: { _def: {}, parse() {} }, handler }),
      'output: expected a schema of zod 4, got one of zod 3.',
    ],
    [
      'a summary that is no string',
      post('/a', { summary: 1, handler }),
      'summary: expected a string, got 1.',
    ],
    [
      'an unknown option',
      post('/a', { outputs: z.string(), handler }),
      'routes[0]: unknown key "outputs". Did you mean output? Known are',
    ],
  ])('%s', (_, definition, message) => {
    expect(messageOf(() => defined(definition))).toContain(message);
    expect(messageOf(() => defined(definition))).toMatch(/^defineService: /);
  });

  test('a method and path that are there twice, whatever their parts are called', () => {
    const twice = () =>
      defineService({
        runners,
        routes: (route) => [
          route.get('/items/{id}', { handler }),
          route.post('/items/{id}', { handler }),
          route.get('/items/{name}', { handler }),
        ],
      });
    expect(messageOf(twice)).toContain('routes[2]: GET /items/{name} is a duplicate of routes[0]');
  });

  test('paths that only begin like those of the server are free', () => {
    for (const path of ['/v2x', '/documents', '/metrics2', '/v1/other']) {
      expect(() => defined(post(path))).not.toThrow();
    }
  });
});

describe('what is wrong with a runner is said:', () => {
  test.each<[string, () => unknown, string]>([
    ['a path that is none', () => onnx(5 as never), 'onnx(path): expected a path or a file URL, got 5.'],
    [
      'a key of the YAML file',
      () => onnx('a.onnx', { batch_dim: 1 } as never),
      'onnx("a.onnx", options): unknown key "batch_dim". Did you mean batchDim? Known are batchable, batchDim,',
    ],
    [
      'several keys',
      () => onnx('a.onnx', { batchDimm: 1, warmups: 2 } as never),
      'unknown key "batchDimm". Did you mean batchDim? unknown key "warmups". Did you mean warmup? Known are batchable,',
    ],
    [
      'a key mistyped further in',
      () => onnx('a.onnx', { batching: { maxBatchsize: 8 } } as never),
      'options).batching: unknown key "maxBatchsize". Did you mean maxBatchSize?',
    ],
    [
      'a size of 0',
      () => onnx('a.onnx', { batching: { maxBatchSize: 0 } }),
      'options).batching.maxBatchSize: expected number to be >=1, got 0',
    ],
    [
      'a dimension counted from the end',
      () => onnx('a.onnx', { batchDim: -1 }),
      'options).batchDim: matches none of the alternatives (expected number to be >=0, got -1;',
    ],
    [
      'a dimension of the outputs counted from the end',
      () => onnx('a.onnx', { batchDim: [0, -1] }),
      '[1]: expected number to be >=0, got -1',
    ],
    [
      'a policy that is none',
      () => onnx('a.onnx', { batching: { policy: 'eager' as never } }),
      'batching.policy: expected one of "adaptive"|"greedy"|"window", got "eager"',
    ],
    [
      'sizes that fall',
      () => onnx('a.onnx', { batching: { batchSizes: [4, 2] } }),
      'batching.batchSizes: expected ascending numbers, got an array of 2',
    ],
    [
      'two mistakes',
      () => onnx('a.onnx', { concurrency: 1.5, warmup: 'x' as never }),
      'options).concurrency: expected int, got 1.5; onnx("a.onnx", options).warmup: expected number, got "x"',
    ],
    [
      'a handler that is none',
      () => fn('x' as never),
      'fn(handler, options): handler: expected a function (items, context) => results, got "x".',
    ],
    [
      'a cost that is no function',
      () => fn((items: number[]) => items, { costOf: 3 as never }),
      'costOf: expected a function of an item, got 3.',
    ],
    [
      'threads that are counted',
      () => fn((items: number[]) => items, { thread: 2 as never }),
      'thread: expected true or false, got 2.',
    ],
    // The options that only a function has are taken out before the others are checked, and were not known there.
    [
      'a misspelt option of functions',
      () => fn((items: number[]) => items, { costof: () => 1 } as never),
      'unknown key "costof". Did you mean costOf? Known are batchable, ',
    ],
    [
      'an option of functions for a model',
      () => onnx('a.onnx', { costOf: () => 1 } as never),
      'unknown key "costOf". Known are batchable, ',
    ],
    [
      'a time-out of NaN',
      () => fn((items: number[]) => items, { timeoutMs: Number.NaN }),
      'timeoutMs: expected number, got NaN',
    ],
  ])('%s', (_, run, message) => {
    expect(messageOf(run)).toContain(message);
  });

  test('what is not set is not there, and a pair of dimensions is kept', () => {
    const declared = onnx('a.onnx', {
      batchDim: [0, 1],
      timeoutMs: undefined,
      batching: { maxWaitMs: undefined },
    });
    expect(declared.settings).toEqual({ batchDim: [0, 1], batching: {} });
    expect(Object.isFrozen(declared.settings)).toBe(true);
  });

  test('a function keeps what only it can say of its items', () => {
    const costOf = (text: string) => text.length;
    const declared = fn((texts: string[]) => texts, {
      batchable: true,
      costOf,
      batching: { maxBatchSize: 32 },
    });
    expect(declared.batcher.costOf).toBe(costOf);
    expect(declared.settings).toEqual({ batchable: true, batching: { maxBatchSize: 32 } });
  });

  test('a model may be named by a file URL', () => {
    expect(onnx(new URL('file:///models/iris.onnx')).path).toBe('/models/iris.onnx');
  });
});
