import { createRequire } from 'node:module';
import { PassThrough, Readable, Writable } from 'node:stream';
import { BatchwiseError, VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { HttpRoute } from '../../src/http/http-route.js';
import { RequestError } from '../../src/request-error.js';
import { defineService } from '../../src/service/define-service.js';
import { fn } from '../../src/service/fn.js';
import { onnx } from '../../src/service/onnx.js';
import type { AddRoute } from '../../src/service/route-builder.js';
import { serviceRoutes } from '../../src/service/service-routes.js';
import { FakeCall, type FakeReply } from './support/fake-call.js';
import { FakeRunner, floats, IRIS, inputsOf } from './support/fake-runner.js';
import { promiseWithResolvers } from './support/promise-with-resolvers.js';

const declared = {
  iris: onnx<number[], number[]>('iris.onnx', { batchable: true }),
  double: fn(async (numbers: number[]) => numbers.map((n) => n * 2)),
};

type Add = AddRoute<typeof declared>;
type Options = Parameters<Add>[1];

/** One route at POST /go, with runners that the test answers. */
function served(options: Options, method: 'post' | 'get' = 'post', path = '/go') {
  const iris = new FakeRunner('iris', IRIS);
  const double = new FakeRunner('double', undefined);
  const service = defineService({ runners: declared, routes: (route) => [route[method](path, options)] });
  const [route] = serviceRoutes(
    service,
    new Map([
      ['iris', iris],
      ['double', double],
    ]),
  );
  return { iris, double, route: route as HttpRoute };
}

/** As the HTTP server calls it. */
function handled(route: HttpRoute, call: FakeCall): Promise<FakeReply> {
  try {
    const ended = route.handle(call);
    if (ended) ended.then(undefined, (error) => call.fail(error));
  } catch (error) {
    call.fail(error);
  }
  return call.replied;
}

function json(reply: FakeReply): Record<string, unknown> {
  return JSON.parse(String(reply.body));
}

const echo: Options = { handler: (input) => ({ input }) };

describe('a route', () => {
  test('answers with what its handler makes of the body and its runners', async () => {
    const input = z.object({ row: z.array(z.number()).length(4) });
    const { route, iris } = served({
      input,
      output: z.object({ probabilities: z.array(z.number()) }),
      handler: async (given, { runners }) => ({
        probabilities: await runners.iris.predict((given as z.infer<typeof input>).row),
      }),
    });
    const reply = handled(route, new FakeCall({ body: { row: [1, 2, 3, 4] } }));
    expect(inputsOf(iris.last)).toEqual(floats('input', [1, 4], [1, 2, 3, 4]));
    iris.last.answer(floats('probabilities', [1, 3], [0, 0.25, 0.75]));
    expect(json(await reply)).toEqual({ probabilities: [0, 0.25, 0.75] });
    expect((await reply).status).toBe(200);
    expect((await reply).headers['content-type']).toBe('application/json');
  });

  test('may await several runners together, and tells of the slowest of them', async () => {
    const { route, iris, double } = served({
      handler: async (_, { runners }) =>
        Promise.all([runners.iris.predict([1, 2, 3, 4]), runners.double.predict(4)]),
    });
    const reply = handled(route, new FakeCall());
    expect(iris.asked.length + double.asked.length).toBe(2);
    iris.last.answer(floats('probabilities', [1, 3], [1, 0, 0]), {
      batchSize: 7,
      queueMs: 2,
      computeMs: 3.5,
    });
    double.last.answer(8, { batchSize: 3, queueMs: 0.5, computeMs: 1 });
    expect(json(await reply)).toEqual([[1, 0, 0], 8]);
    expect((await reply).headers).toMatchObject({
      'batchwise-batch-size': '7',
      'batchwise-queue-ms': '2',
      'batchwise-compute-ms': '3.5',
    });
  });

  test('that asked no runner says nothing of batches', async () => {
    const { route } = served(echo);
    expect((await handled(route, new FakeCall({ body: '1' }))).headers).toEqual({
      'content-type': 'application/json',
    });
  });

  test('sends many rows as one request and gets them back in order', async () => {
    const { route, iris } = served({
      handler: (_, { runners }) =>
        runners.iris.predictMany([
          [1, 2, 3, 4],
          [5, 6, 7, 8],
        ]),
    });
    const reply = handled(route, new FakeCall());
    expect(iris.asked).toHaveLength(1);
    expect(inputsOf(iris.last)).toEqual(floats('input', [2, 4], [1, 2, 3, 4, 5, 6, 7, 8]));
    iris.last.answer(floats('probabilities', [2, 3], [1, 2, 3, 4, 5, 6]));
    expect(json(await reply)).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
  });

  test('sends many items of a function one by one, and no items to nobody', async () => {
    const { route, double } = served({
      handler: async (_, { runners }) => [
        await runners.double.predictMany([]),
        await runners.double.predictMany([1, 2]),
      ],
    });
    const call = new FakeCall();
    const reply = handled(route, call);
    await expect.poll(() => double.asked.length).toBe(2);
    double.asked[1]?.answer(4);
    double.asked[0]?.answer(2);
    expect(json(await reply)).toEqual([[], [2, 4]]);
  });

  test('can be given tensors and gives tensors', async () => {
    const { route, iris } = served({
      handler: async (_, { runners }) => {
        const outputs = await runners.iris.infer(floats('input', [1, 4], [1, 2, 3, 4]));
        return outputs.get('probabilities')?.shape;
      },
    });
    const reply = handled(route, new FakeCall());
    iris.last.answer(floats('probabilities', [1, 3], [1, 0, 0]));
    expect(json(await reply)).toEqual([1, 3]);
  });

  test('answers a synchronous handler without waiting', () => {
    const { route } = served(echo);
    const call = new FakeCall({ body: '1' });
    route.handle(call);
    expect(call.isSettled).toBe(true);
  });

  test('answers nothing with 204', async () => {
    const { route } = served({ handler: () => undefined });
    expect(await handled(route, new FakeCall())).toMatchObject({ status: 204, body: '' });
  });

  test('tells its handler of path, query, headers and request id', async () => {
    const { route } = served(
      {
        handler: (_, { params, query, headers, requestId, callOptions }) => ({
          params,
          q: query.get('q'),
          agent: headers['user-agent'],
          requestId,
          callOptions,
        }),
      },
      'get',
      '/items/{id}',
    );
    const call = new FakeCall({ params: { id: 'a b' }, query: 'q=1', headers: { 'user-agent': 'me' } });
    expect(json(await handled(route, call))).toEqual({
      params: { id: 'a b' },
      q: '1',
      agent: 'me',
      requestId: 'request-1',
      callOptions: {},
    });
  });

  test('hands what the request asks for on to the runners, under what the handler asks for', async () => {
    const clock = new VirtualClock();
    const double = new FakeRunner('double', undefined, (n) => n);
    const service = defineService({
      runners: { double: declared.double },
      routes: (route) => [
        route.post('/go', {
          handler: async (_, { runners }) => {
            await runners.double.predict(1);
            await clock.advance(20);
            await runners.double.predict(1, { priority: 5 });
            await clock.advance(40);
            await runners.double.predict(1);
          },
        }),
      ],
    });
    const [route] = serviceRoutes(service, new Map([['double', double]]), {
      maxTimeoutMs: 50,
      trustedHeaders: ['priority'],
      clock,
    });
    const headers = { 'batchwise-timeout-ms': '90', 'batchwise-priority': '1' };
    await handled(route as HttpRoute, new FakeCall({ headers }));
    expect(double.asked.map(({ options }) => options)).toEqual([
      { timeoutMs: 50, priority: 1 },
      // The calls of a request share the client's time.
      { timeoutMs: 30, priority: 5 },
      { timeoutMs: 0, priority: 1 },
    ]);
    const wrong = new FakeCall({ headers: { 'batchwise-priority': 'high' } });
    expect((await handled(route as HttpRoute, wrong)).status).toBe(400);
  });

  test('needs the runners that its service names', () => {
    const service = defineService({ runners: declared, routes: () => [] });
    expect(() => serviceRoutes(service, new Map())).toThrow('expected a runner named iris, got none');
  });
});

describe('an input', () => {
  const flower: Options = {
    input: z.object({
      sepal_length: z.number(),
      sepal_width: z.number().max(50),
      tags: z.array(z.string()).default([]),
    }),
    handler: (input) => input,
  };

  test('comes to the handler as its schema makes it', async () => {
    const { route } = served(flower);
    const reply = await handled(route, new FakeCall({ body: { sepal_length: 1, sepal_width: 2, other: 3 } }));
    expect(json(reply)).toEqual({ sepal_length: 1, sepal_width: 2, tags: [] });
  });

  test('that does not fit is answered with what was expected, what came and where', async () => {
    const { route } = served(flower);
    const reply = await handled(route, new FakeCall({ body: { sepal_length: 'x', sepal_width: 2 } }));
    expect(reply.status).toBe(400);
    expect(json(reply)).toMatchObject({
      code: 'BAD_REQUEST',
      where: 'body.sepal_length',
      detail: 'body.sepal_length: expected number, got "x".',
    });
  });

  test('with several mistakes is told of all of them', async () => {
    const { route } = served(flower);
    const reply = await handled(route, new FakeCall({ body: { sepal_width: 80, tags: ['a', 1] } }));
    expect(json(reply).detail).toBe(
      '3 values are invalid: body.sepal_length: expected number, got nothing; ' +
        'body.sepal_width: expected number to be <=50, got 80; body.tags[1]: expected string, got 1.',
    );
  });

  test('with a thousand mistakes gets a short answer', async () => {
    const { route } = served({ input: z.array(z.number()), handler: () => 1 });
    const reply = await handled(route, new FakeCall({ body: Array(1000).fill('x'.repeat(10)) }));
    expect(json(reply).detail).toMatch(/^1000 values are invalid: body\[0\]: .*; and 980 more\.$/);
    expect(String(reply.body).length).toBeLessThan(5000);
  });

  test('with a hundred thousand mistakes hears of the first', async () => {
    const { route } = served({ input: z.array(z.number()), handler: () => 1 });
    const reply = await handled(route, new FakeCall({ body: [0, ...Array(100_000).fill('x')] }));
    expect(json(reply)).toMatchObject({
      status: 400,
      where: 'body[1]',
      detail: 'body[1]: expected number, got "x".',
    });
  });

  test('that fits none of several forms hears what each of them expects', async () => {
    const { route } = served({
      input: z.object({ at: z.union([z.number(), z.object({ x: z.number() })]) }),
      handler: () => 1,
    });
    const reply = await handled(route, new FakeCall({ body: { at: 'here' } }));
    expect(json(reply).detail).toBe(
      'body.at: matches none of the alternatives (expected number, got "here"; or expected object, got "here").',
    );
  });

  test('is told what the author of its schema has to say', async () => {
    const { route } = served({ input: z.number({ error: 'a number, please' }), handler: () => 1 });
    expect(json(await handled(route, new FakeCall({ body: '"x"' }))).detail).toBe(
      'body: a number, please, got "x".',
    );
  });

  test('may be checked by something that takes time', async () => {
    const { route } = served({
      input: z.string().refine(async (text) => text !== 'bad', { error: 'not this one' }),
      handler: (input) => ({ input }),
    });
    expect((await handled(route, new FakeCall({ body: '"bad"' }))).status).toBe(400);
    expect(json(await handled(route, new FakeCall({ body: '"good"' })))).toEqual({ input: 'good' });
  });

  test('of a GET is its query', async () => {
    const { route } = served(
      { input: z.object({ n: z.coerce.number(), tag: z.array(z.string()) }), handler: (input) => input },
      'get',
    );
    expect(json(await handled(route, new FakeCall({ query: 'n=3&tag=a&tag=b&__proto__=1' })))).toEqual({
      n: 3,
      tag: ['a', 'b'],
    });
    const reply = await handled(route, new FakeCall({ query: 'n=x&tag=a&tag=b' }));
    expect(json(reply).where).toBe('query.n');
  });

  // One of a name was text whatever the schema, so that a list of one could not be sent, though the document allows it.
  test('of a GET is a list where the schema wants one, also of one', async () => {
    const List = z.array(z.string()).meta({ id: 'List' });
    const { route } = served(
      {
        input: z.object({
          a: z.array(z.coerce.number()),
          b: z.array(z.string()).optional(),
          c: List.default(['x']),
          d: z.union([z.string(), z.array(z.string())]),
        }),
        handler: (input) => input,
      },
      'get',
    );
    const answerTo = async (query: string) => json(await handled(route, new FakeCall({ query })));
    expect(await answerTo('a=1&d=1')).toEqual({ a: [1], c: ['x'], d: '1' });
    expect(await answerTo('a=1&a=2&b=3&c=&d=1&d=2')).toEqual({ a: [1, 2], b: ['3'], c: [''], d: ['1', '2'] });
    expect((await answerTo('a=x&d=1')).where).toBe('query.a[0]');
  });

  // Root cause: zod tells the value that it looked at, and a coerced one is not the one that came.
  test('is told as it came, not as a schema had made it', async () => {
    const { route } = served(
      {
        input: z.object({ n: z.coerce.number(), day: z.coerce.date(), gone: z.coerce.number() }),
        handler: (input) => input,
      },
      'get',
    );
    expect(json(await handled(route, new FakeCall({ query: 'n=many&day=someday' }))).detail).toBe(
      '3 values are invalid: query.n: expected number, got "many"; query.day: expected date, got "someday"; query.gone: expected number, got nothing.',
    );
  });

  test('is checked by schemas of another copy of zod, those that wait for something too', async () => {
    // The one of a service module that has zod in a folder of its own; here, the one for require().
    const other: typeof z = createRequire(import.meta.url)('zod');
    expect(other.ZodString).not.toBe(z.ZodString);
    const isFree = async (name: string) => name !== 'taken';
    const input = other.object({ name: other.string().refine(isFree, { error: 'is taken' }) });
    const { route } = served({ input, handler: (given) => given });
    expect(json(await handled(route, new FakeCall({ body: { name: 'free' } })))).toEqual({ name: 'free' });
    const refused = await handled(route, new FakeCall({ body: { name: 'taken' } }));
    expect([refused.status, json(refused)]).toEqual([400, expect.objectContaining({ where: 'body.name' })]);
    const wrong = await handled(route, new FakeCall({ body: { name: 5 } }));
    expect(json(wrong)).toMatchObject({ detail: 'body.name: expected string, got 5.' });
  });

  test('without a schema is whatever JSON came, or undefined', async () => {
    const { route } = served(echo);
    expect(json(await handled(route, new FakeCall({ body: '[1, null]' })))).toEqual({ input: [1, null] });
    expect(json(await handled(route, new FakeCall()))).toEqual({});
  });
});

describe('a hostile body:', () => {
  const { route } = served({ input: z.unknown(), handler: (input) => ({ input }) });

  test.each<[string, string | Buffer, string]>([
    ['nothing', '', 'body: expected JSON, got an empty body.'],
    ['half an object', '{"a": [1, 2', 'body: expected JSON, but '],
    ['no JSON', 'hello', 'body: expected JSON, but '],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 'got bytes that are not UTF-8'],
    ['100,000 levels', '['.repeat(100_000), 'expected JSON of at most 200 levels, got more'],
    ['100,000 levels of objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 'at most 200 levels'],
    ['a string that does not end', `"${'\\"['.repeat(1000)}`, 'body: expected JSON, but '],
  ])('%s is a 400', async (_, body, detail) => {
    const reply = await handled(route, new FakeCall({ body }));
    expect(reply.status).toBe(400);
    expect(json(reply).detail).toContain(detail);
  });

  test('a content type that is not read is a 415', async () => {
    const reply = await handled(
      route,
      new FakeCall({ body: '<a/>', headers: { 'content-type': 'application/xml' } }),
    );
    expect(reply.status).toBe(415);
  });

  test('brackets in strings are not levels', async () => {
    const text = '[{'.repeat(500);
    expect(json(await handled(route, new FakeCall({ body: { text } })))).toEqual({ input: { text } });
  });

  test('__proto__ is left out, however it is written, and nobody inherits from it', async () => {
    const seen: unknown[] = [];
    const { route } = served({ handler: (input) => void seen.push(input) });
    for (const name of [
      '__proto__',
      '\\u005f_proto__',
      '_\\u005F\\u0070roto__',
      '__\\u0070roto__',
      '__pro\\u0074o__',
      '__p\\u0072oto__',
      '__pr\\u006Fto__',
    ]) {
      await handled(route, new FakeCall({ body: `{"a": {"${name}": {"isAdmin": true}, "b": 1}}` }));
    }
    for (const input of seen as { a: object }[]) {
      expect(Reflect.ownKeys(input.a)).toEqual(['b']);
      expect(Object.getPrototypeOf(input.a)).toBe(Object.prototype);
    }
    expect(seen).toHaveLength(7);
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });

  test('any JSON comes to the handler as JSON.parse reads it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json({ maxDepth: 6 }), async (text) => {
        fc.pre(!text.includes('__proto__'));
        const reply = await handled(route, new FakeCall({ body: text }));
        expect(json(reply)).toEqual({ input: JSON.parse(text) });
      }),
    );
  });

  test('any bytes are answered, with 200 or 400', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (bytes) => {
        const reply = await handled(route, new FakeCall({ body: Buffer.from(bytes) }));
        expect([200, 400]).toContain(reply.status);
      }),
    );
  });
});

describe('a result', () => {
  test('that does not fit the output is a 500 that keeps it to the log', async () => {
    const { route } = served({
      output: z.object({ label: z.string() }),
      handler: () => ({ label: 42, secret: 'x' }),
    });
    const reply = await handled(route, new FakeCall());
    expect(reply.status).toBe(500);
    expect(String(reply.body)).not.toContain('42');
    expect((reply.error as Error).cause).toMatchObject({
      message:
        'POST /go: the result of the handler does not match its output schema: result.label: expected string, got 42.',
    });
  });

  test('comes out as the output makes it', async () => {
    const { route } = served({
      output: z.object({ label: z.string() }),
      handler: () => ({ label: 'a', secret: 'x' }),
    });
    expect(json(await handled(route, new FakeCall()))).toEqual({ label: 'a' });
  });

  class Hidden {
    readonly #secret = 1;
    get secret() {
      return this.#secret;
    }
  }

  // JSON.stringify made {} of most of these, and the client got 200.
  test.each<[name: string, make: () => unknown]>([
    ['ReadableStream', () => new ReadableStream()],
    ['WritableStream', () => new WritableStream()],
    ['Response', () => new Response('text')],
    ['Headers', () => new Headers({ a: 'b' })],
    ['Buffer', () => Buffer.from('bytes')],
    ['Uint8Array', () => new Uint8Array(3)],
    ['Float32Array', () => new Float32Array(3)],
    ['DataView', () => new DataView(new ArrayBuffer(8))],
    ['ArrayBuffer', () => new ArrayBuffer(8)],
    ['SharedArrayBuffer', () => new SharedArrayBuffer(8)],
    ['Blob', () => new Blob(['bytes'])],
    ['Readable', () => Readable.from(['a'])],
    ['PassThrough', () => new PassThrough()],
    ['Writable', () => new Writable()],
    ['Generator', () => (function* () {})()],
    ['AsyncGenerator', () => (async function* () {})()],
    ['Map', () => new Map([[1, 2]])],
    ['Set', () => new Set([1])],
    ['WeakMap', () => new WeakMap()],
    ['URLSearchParams', () => new URLSearchParams('a=b')],
    ['FormData', () => new FormData()],
    ['RegExp', () => /x/],
    ['Error', () => new Error('not thrown')],
    ['Hidden', () => new Hidden()],
    ['function', () => () => {}],
    ['symbol', () => Symbol('x')],
  ])('that is a %s is a 500, wherever it is, and the log names the route', async (name, make) => {
    const places: [where: string, result: unknown][] = [
      ['result', make()],
      ['result.rows[1].content', { rows: [1, { content: make() }] }],
    ];
    for (const [where, result] of places) {
      const { route } = served({ handler: () => result });
      const reply = await handled(route, new FakeCall());
      expect(reply.status).toBe(500);
      expect(String(reply.body)).not.toContain(name);
      expect(String((reply.error as Error).cause)).toMatch(
        new RegExp(
          `POST /go: ${where.replace(/[[\]]/g, '\\$&')}: expected JSON data .*, got an? .*\\b${name}\\.`,
        ),
      );
    }
  });

  test.each<[string, unknown]>([
    ['a bigint', { n: 1n }],
    ['a cycle', cyclic()],
    ['a toJSON that gives nothing', { toJSON: () => undefined }],
    ['a toJSON that throws', { toJSON: () => JSON.parse('{') }],
  ])('that JSON cannot carry, %s, is a 500', async (_, result) => {
    const { route } = served({ handler: () => result });
    const reply = await handled(route, new FakeCall());
    expect(reply.status).toBe(500);
    expect(String((reply.error as Error).cause)).toContain('POST /go: result: expected JSON data');
  });

  test('is sent where JSON has a form for it', async () => {
    class Point {
      constructor(
        readonly x: number,
        readonly y: number,
      ) {}
    }
    const result = {
      nothing: null,
      left_out: undefined,
      empty: [{}, [], '', Object.create(null)],
      date: new Date(0),
      url: new URL('http://localhost/'),
      point: new Point(1, 2),
      own: { toJSON: () => 'own' },
      listed: Object.assign(new Map(), { toJSON: () => [1, 2] }),
      boxed: [Object(1), Object('a'), Object(true)],
      sparse: [1, undefined, Number.NaN],
      arrayBuffer: true,
    };
    const { route } = served({ handler: () => result });
    const reply = await handled(route, new FakeCall());
    expect([reply.status, reply.body]).toEqual([200, JSON.stringify(result)]);
  });

  test('that is thrown is an error of its own kind', async () => {
    const thrown = served({
      handler: () => {
        throw new RequestError('NOT_FOUND', 'no such flower');
      },
    });
    expect((await handled(thrown.route, new FakeCall())).status).toBe(404);
    const rejected = served({ handler: () => Promise.reject(new Error('secret')) });
    const reply = await handled(rejected.route, new FakeCall());
    expect(reply.status).toBe(500);
    expect(String(reply.body)).not.toContain('secret');
  });

  test('of a refused runner call is what the runner said', async () => {
    const { route, double } = served({ handler: (_, { runners }) => runners.double.predict(1) });
    const reply = handled(route, new FakeCall());
    double.last.fail(new BatchwiseError('OVERLOADED', 'too much', { retryAfterMs: 1500 }));
    expect(await reply).toMatchObject({ status: 429, headers: { 'retry-after': '2' } });
  });

  test('of a row that does not fit its model is a 400', async () => {
    const { route } = served({ handler: (input, { runners }) => runners.iris.predict(input as number[]) });
    for (const [body, detail] of [
      ['[1, 2, 3]', 'row 0 of input "input": expected 4 at depth 1 of shape [4], got 3'],
      ['[1, 2, 3, "x"]', 'as element 3, got string'],
    ] as const) {
      const reply = await handled(route, new FakeCall({ body }));
      expect(reply.status).toBe(400);
      expect(json(reply).detail).toContain(detail);
    }
  });
});

describe('a client that hangs up', () => {
  test('cancels what its handler waits for, and no signal is made for that', async () => {
    const ended = promiseWithResolvers<unknown>();
    const { route, iris, double } = served({
      handler: async (_, { runners }) => {
        const both = Promise.allSettled([runners.iris.predict([1, 2, 3, 4]), runners.double.predict(1)]);
        ended.resolve(await both);
      },
    });
    const call = new FakeCall();
    route.handle(call);
    call.hangUp();
    expect([iris.last.isSettled, double.last.isSettled]).toEqual([true, true]);
    expect(await ended.promise).toMatchObject([
      { status: 'rejected', reason: { code: 'CANCELLED' } },
      { status: 'rejected', reason: { code: 'CANCELLED' } },
    ]);
    expect(call.listeners).toHaveLength(1);
  });

  test('is listened for only when there is something to cancel', () => {
    const { route } = served(echo);
    const call = new FakeCall({ body: '1' });
    route.handle(call);
    expect(call.listeners).toHaveLength(0);
  });

  test('leaves a handler nothing more to ask for', async () => {
    const gate = promiseWithResolvers<void>();
    const ended = promiseWithResolvers<unknown>();
    const { route, double } = served({
      handler: async (_, { runners }) => {
        await gate.promise;
        await runners.double.predict(1).catch(ended.resolve);
      },
    });
    const call = new FakeCall();
    route.handle(call);
    call.hangUp();
    gate.resolve();
    expect(await ended.promise).toMatchObject({ code: 'CANCELLED' });
    expect(double.asked).toHaveLength(0);
  });

  test('fires the signal of a handler that took one, before or after', async () => {
    const gate = promiseWithResolvers<void>();
    const late = promiseWithResolvers<AbortSignal>();
    const signals: AbortSignal[] = [];
    const early = served({ handler: (_, { signal }) => new Promise(() => signals.push(signal)) });
    const call = new FakeCall();
    early.route.handle(call);
    expect(signals[0]?.aborted).toBe(false);
    call.hangUp();
    expect(signals[0]?.aborted).toBe(true);
    expect(signals[0]?.reason).toMatchObject({ code: 'CANCELLED' });

    const { route } = served({
      handler: async (_, context) => {
        await gate.promise;
        late.resolve(context.signal);
      },
    });
    const other = new FakeCall();
    route.handle(other);
    other.hangUp();
    gate.resolve();
    expect((await late.promise).aborted).toBe(true);
  });

  test('does not end the process through a promise that nobody was waiting for', async () => {
    const unhandled: unknown[] = [];
    const listen = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', listen);
    const gate = promiseWithResolvers<void>();
    const { route } = served({
      handler: async (_, { runners }) => {
        const one = runners.double.predict(1);
        const many = runners.double.predictMany([1, 2]);
        await gate.promise;
        return [await one, await many];
      },
    });
    const call = new FakeCall();
    route.handle(call);
    call.hangUp();
    // Rejections that nobody handles are reported after the microtasks of the turn.
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listen);
    gate.resolve();
    expect(unhandled).toEqual([]);
  });
});

describe('a handler that fails', () => {
  test('has its other runner calls cancelled', async () => {
    const { route, iris, double } = served({
      handler: (_, { runners }) =>
        Promise.all([runners.iris.predict([1, 2, 3, 4]), runners.double.predict(1)]),
    });
    const reply = handled(route, new FakeCall());
    double.last.fail(new BatchwiseError('QUEUE_FULL', 'full'));
    expect((await reply).status).toBe(429);
    expect(iris.last.isSettled).toBe(true);
  });
});

describe('a handler that has answered', () => {
  test('may let a runner go on without it', async () => {
    const { route, double } = served({
      handler: (_, { runners }) => {
        runners.double.predict(1);
        return 'accepted';
      },
    });
    const call = new FakeCall();
    await handled(route, call);
    expect(double.last.isSettled).toBe(false);
    double.last.answer(2);
  });
});

function cyclic(): object {
  const one: Record<string, unknown> = {};
  one.self = [one, one];
  return one;
}
