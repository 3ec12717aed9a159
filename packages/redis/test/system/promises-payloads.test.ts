/** What items and results may be, and what their callers hear when they cannot travel. */
import { randomUUID } from 'node:crypto';
import { RedisBatcher, RedisProcessor } from '@batchwise/redis';
import type { Handler } from 'batchwise';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { PayloadKind } from '../../src/codec.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

function pair<I, R>(handler: Handler<I, R>, sent: PayloadKind, taken = sent): RedisBatcher<I, R> {
  const queue = `q-${randomUUID()}`;
  const batcher = new RedisBatcher<I, R>({ url: redis.url, queue, payload: sent, name: 'echo' });
  const processor = new RedisProcessor<I, R>(handler, {
    url: redis.url,
    queue,
    payload: taken,
    name: 'echo',
  });
  onTestFinished(() => {
    batcher.destroy();
    processor.destroy();
  });
  return batcher;
}

const echo = (items: unknown[]) => items;

const json = fc.jsonValue();

test('whatever JSON can say comes back as it went', async () => {
  const batcher = pair(echo, 'json');
  await fc.assert(
    fc.asyncProperty(fc.array(json, { minLength: 1, maxLength: 20 }), async (items) => {
      expect(await batcher.submitMany(items)).toEqual(items);
    }),
    { numRuns: 30 },
  );
});

test('with MessagePack also numbers, dates, bytes and undefined do', async () => {
  const batcher = pair(echo, 'msgpack');
  const plain = fc.oneof(
    json,
    fc.double(),
    fc.constant(undefined),
    fc.bigInt(),
    fc.date({ noInvalidDate: true }),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    fc.float32Array(),
    fc.bigInt64Array(),
    fc.array(fc.double()).map((numbers) => new Float64Array([0, ...numbers]).subarray(1)),
  );
  const value = fc.oneof(
    plain,
    fc.array(plain),
    fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      plain,
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 20 }), async (items) => {
      expect(await batcher.submitMany(items)).toEqual(items);
    }),
    { numRuns: 30 },
  );
});

// A typed array was written as many bytes of which only the first were its own: the others were those of earlier items.
test('with MessagePack no item or result has bytes of another in it', async () => {
  const batcher = pair(
    (items: { secret: string; row: Float32Array }[]) => items.map(({ row }) => row.map((x) => 2 * x)),
    'msgpack',
  );
  const calls = Array.from({ length: 300 }, (_, i) => {
    const row = new Float32Array(64).fill(i);
    return batcher.submit({ secret: `secret of ${i} `.repeat(30), row: row.subarray(8, 40) });
  });
  for (const [i, result] of (await Promise.all(calls)).entries()) {
    expect(result).toStrictEqual(new Float32Array(32).fill(2 * i));
    expect(result.buffer.byteLength).toBe(32 * 4);
  }
});

test('bytes come back as they went, whatever they are', async () => {
  const batcher = pair((items: Uint8Array[]) => items, 'bytes');
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array(), { minLength: 1, maxLength: 20 }), async (items) => {
      const answers = await batcher.submitMany(items);
      expect(answers.map((answer) => Buffer.from(answer))).toEqual(items.map((item) => Buffer.from(item)));
      for (const answer of answers) expect(answer).toBeInstanceOf(Uint8Array);
    }),
    { numRuns: 30 },
  );
});

test('text of any alphabet, and a large item, come back as they went', async () => {
  const text = 'Grüße, 世界, 🚀 \u0000 "\\" \u2028 \ud800';
  const large = 'x'.repeat(3_000_000);
  for (const kind of ['json', 'msgpack'] as const) {
    const batcher = pair(echo, kind);
    expect(await batcher.submit(large)).toBe(large);
    if (kind === 'json') expect(await batcher.submit({ [text]: text })).toEqual({ [text]: text });
  }
});

const circular: { self?: unknown } = {};
circular.self = circular;

const noJson: readonly [string, unknown][] = [
  ['undefined', undefined],
  ['NaN', Number.NaN],
  ['a typed array', { row: new Float32Array(2) }],
  ['a Date', new Date(5)],
  ['a function', () => {}],
  ['a symbol', Symbol('s')],
  ['a BigInt', 10n],
  ['a circle', circular],
  [
    'what fails to tell itself',
    {
      toJSON() {
        throw new Error('not me');
      },
    },
  ],
];

test.each(noJson)(
  'as an item, %s is no JSON: its caller hears it, its neighbours are answered',
  async (_, item) => {
    const batcher = pair(echo, 'json');
    const settled = await Promise.allSettled([1, item, 2].map((one) => batcher.submit(one)));
    expect(settled[0]).toEqual({ status: 'fulfilled', value: 1 });
    expect(settled[2]).toEqual({ status: 'fulfilled', value: 2 });
    expect((settled[1] as PromiseRejectedResult).reason).toMatchObject({
      code: 'INVALID_ITEM',
      message: expect.stringMatching(/^echo: the item cannot be encoded as json: ./),
    });
  },
);

// Root cause: all items of the submission failed with UNAVAILABLE, and each retry failed its neighbours again.
test('an item that is too large for Redis fails as invalid, and its neighbours are answered', async () => {
  await using small = await startRedis({ settings: ['proto-max-bulk-len 1mb'] });
  const options = { url: small.url, queue: 'q', payload: 'bytes' } as const;
  await using processor = new RedisProcessor<Uint8Array, Uint8Array>((items) => items, options);
  await using batcher = new RedisBatcher<Uint8Array, Uint8Array>(options);
  await Promise.all([processor.ready, batcher.ready]);
  const sizes = [10, 3_000_000, 900_000, 20, 2_000_000, 30];
  const settled = await Promise.allSettled(sizes.map((size) => batcher.submit(Buffer.alloc(size))));
  const outcomes = settled.map((one) => (one.status === 'fulfilled' ? one.value.length : one.reason));
  const tooLarge = (size: number) =>
    expect.objectContaining({
      code: 'INVALID_ITEM',
      message: `q: Redis rejected the item of ${size} bytes (above proto-max-bulk-len?).`,
    });
  expect(outcomes).toEqual([10, tooLarge(3_000_000), 900_000, 20, tooLarge(2_000_000), 30]);
});

test.each(noJson.slice(1))(
  'as a result, %s is no JSON: its caller hears it, its neighbours are answered',
  async (_, result) => {
    const batcher = pair((items: number[]) => items.map((item) => (item === 0 ? result : item)), 'json');
    const settled = await Promise.allSettled([1, 0, 2].map((one) => batcher.submit(one)));
    expect(settled[0]).toEqual({ status: 'fulfilled', value: 1 });
    expect(settled[2]).toEqual({ status: 'fulfilled', value: 2 });
    expect((settled[1] as PromiseRejectedResult).reason).toMatchObject({
      code: 'BAD_RESULT',
      message: expect.stringContaining('cannot be encoded as json: '),
    });
  },
);

test('a result of undefined is undefined', async () => {
  for (const kind of ['json', 'msgpack', 'bytes'] as const) {
    const batcher = pair<Buffer | number, unknown>((items) => items.map(() => undefined), kind);
    expect(await batcher.submit(kind === 'bytes' ? Buffer.from('x') : 1)).toBeUndefined();
  }
  expect(await pair(echo, 'json').submit(null)).toBeNull();
  expect(await pair(echo, 'msgpack').submit(Number.NaN)).toBeNaN();
});

test('with bytes, what is none is refused: as an item and as a result', async () => {
  const batcher = pair((items: unknown[]) => items.map(() => 'text'), 'bytes');
  await expect(batcher.submit('text')).rejects.toMatchObject({
    code: 'INVALID_ITEM',
    message: 'echo: the item cannot be encoded as bytes: expected a Uint8Array, got string',
  });
  await expect(batcher.submit(new Uint8Array(1))).rejects.toMatchObject({ code: 'BAD_RESULT' });
});

test.each([
  ['json', 'msgpack'],
  ['json', 'bytes'],
  ['msgpack', 'json'],
  ['bytes', 'json'],
  ['bytes', 'msgpack'],
] as const)(
  'a client that sends %s to a processor that takes %s hears so, and the handler runs nothing',
  async (sent, taken) => {
    let runs = 0;
    const handler = (items: unknown[]) => {
      runs += 1;
      return items;
    };
    const batcher = pair(handler, sent, taken);
    const items = sent === 'bytes' ? [Buffer.from('a'), Buffer.from('b')] : [1, 2];
    for (const { status, reason } of (await Promise.allSettled(
      items.map((item) => batcher.submit(item)),
    )) as PromiseRejectedResult[]) {
      expect(status).toBe('rejected');
      expect(reason).toMatchObject({
        code: 'INVALID_ITEM',
        message: `echo: the item was sent as ${sent}, but this processor expects ${taken}; set the same payload on both ends.`,
      });
    }
    expect(runs).toBe(0);
  },
);

test('errors come back with name, message and cause, whatever the payload is', async () => {
  for (const kind of ['json', 'msgpack', 'bytes'] as const) {
    const batcher = pair<unknown, never>(
      (items) => items.map(() => new RangeError('too far', { cause: new TypeError('of a kind') })),
      kind,
    );
    const error = await batcher
      .submit(kind === 'bytes' ? Buffer.from('x') : 'x')
      .catch((reason: unknown) => reason as Error);
    expect(error).toMatchObject({ name: 'RangeError', message: 'too far' });
    expect((error as Error).cause).toMatchObject({ name: 'TypeError', message: 'of a kind' });
  }
});
