import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { framed } from '../support/framing.js';
import { grpcBackend, type SeenBatch } from '../support/grpc-backend.js';
import { grpcClient } from '../support/grpc-client.js';
import { batchesOf, proxied } from '../support/proxied.js';
import { rawBackend } from '../support/raw-backend.js';
import { answerOf, batchedPath, rawClient } from '../support/raw-client.js';

const bytes = Buffer.from([0, 1, 2, 254, 255, 10, 13]);
const base64 = bytes.toString('base64').replace(/=+$/, '');

/** The values of a name in a list of names and values in turn. */
function valuesIn(raw: readonly string[] = []): Record<string, string[]> {
  const values: Record<string, string[]> = {};
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    values[name] = [...(values[name] ?? []), raw[at + 1] as string];
  }
  return values;
}

describe('metadata of callers', () => {
  it('is sent on the stream of the batch, text and binary', async () => {
    const backend = await grpcBackend();
    const { port } = await proxied(backend, batchesOf(1));
    const metadata = {
      'x-text': 'some text, with a comma',
      'x-bytes-bin': bytes,
      authorization: 'Bearer me',
    };
    expect((await grpcClient(port).call('x', { metadata })).status).toBe(0);
    const batch = await backend.until<SeenBatch>('batch');
    expect(batch.metadata).toMatchObject({
      'x-text': ['some text, with a comma'],
      authorization: ['Bearer me'],
    });
    const [received] = batch.metadata['x-bytes-bin'] as unknown as [{ data: number[] }];
    expect(Buffer.from(received.data)).toEqual(bytes);
  });

  it('is sent if it is equal for the whole batch', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(3));
    const client = rawClient(port);
    const common = { 'x-same': 'one', 'x-same-bin': base64 };
    await Promise.all([
      client.call('a', { headers: { ...common, 'x-mine': 'a', 'x-some': 's', 'x-mine-bin': 'AA' } }),
      client.call('b', { headers: { ...common, 'x-mine': 'b', 'x-some': 's', 'x-mine-bin': 'AQ' } }),
      client.call('c', { headers: { ...common, 'x-mine': 'c' } }),
    ]);
    const { headers, texts } = await backend.nextStream();
    expect([...texts].sort()).toEqual(['a', 'b', 'c']);
    expect(headers).toMatchObject(common);
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['x-mine']));
    expect(headers).not.toHaveProperty('x-some');
    expect(headers).not.toHaveProperty('x-mine-bin');
  });

  it('without connection headers, and with a user agent of the proxy', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    await rawClient(port).call('a', { headers: { 'content-type': 'application/grpc+proto', 'x-a': '1' } });
    const { headers, path } = await backend.nextStream();
    expect(path).toBe(batchedPath);
    expect(headers).toMatchObject({
      ':method': 'POST',
      ':scheme': 'http',
      te: 'trailers',
      'content-type': 'application/grpc+proto',
      'x-a': '1',
    });
  });

  it('may be repeated and keeps all values', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    const headers = { 'x-many': ['1', '2', 'a, b'], 'x-many-bin': ['AA', 'AQ,Ag'] };
    await backend.behave({ do: 'headers', headers }, { do: 'echo' }, { do: 'end', trailers: headers });
    const expected = { 'x-many': ['1', '2', 'a, b'], 'x-many-bin': ['AA', 'AQ', 'Ag'] };
    for (const path of [undefined, '/test.Echo/Other']) {
      const stream = rawClient(port).open(headers, path);
      const raw: string[][] = [];
      stream.on('response', (_headers: unknown, _flags: number, rawHeaders: string[]) =>
        raw.push(rawHeaders),
      );
      stream.on('trailers', (_trailers: unknown, _flags: number, rawTrailers: string[]) =>
        raw.push(rawTrailers),
      );
      stream.end(framed('a'));
      await answerOf(stream);
      const { rawHeaders } = await backend.nextStream();
      expect(valuesIn(rawHeaders)).toMatchObject(expected);
      expect(valuesIn(raw[0])).toMatchObject(expected);
      // In batches, only errors have trailers.
      if (path !== undefined) expect(valuesIn(raw[1])).toMatchObject(expected);
    }
  });
});

it('initial metadata of the backend reaches every caller, text and binary', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(2));
  await backend.behave(
    { do: 'headers', headers: { 'x-model': 'seven', 'x-model-bin': base64 } },
    { do: 'echo' },
    { do: 'end' },
  );
  const client = grpcClient(port);
  for (const { status, headers } of await Promise.all([client.call('a'), client.call('b')])) {
    expect(status).toBe(0);
    expect(headers.get('x-model')).toEqual(['seven']);
    expect(headers.get('x-model-bin')).toEqual([bytes]);
  }
});

it('initial metadata of the backend also reaches callers that get an error', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(3));
  await backend.behave(
    {
      do: 'headers',
      headers: { 'x-model': 'seven', 'x-model-bin': base64, 'batchwise-item-error': '0 5 no' },
    },
    { do: 'echo', count: 2 },
    { do: 'end', status: 9, message: 'enough', trailers: { 'x-why': 'because' } },
  );
  const client = grpcClient(port);
  const answers = await Promise.all([client.call('a'), client.call('b'), client.call('c')]);
  expect(answers.map(({ status }) => status).sort()).toEqual([0, 5, 9]);
  for (const { status, message, headers, trailers } of answers) {
    expect(headers.get('x-model')).toEqual(['seven']);
    expect(headers.get('x-model-bin')).toEqual([bytes]);
    expect(headers.get('batchwise-item-error')).toEqual([]);
    expect(message).toBe({ 0: '', 5: 'no', 9: 'enough' }[status]);
    expect(trailers.get('x-why')).toEqual(status === 9 ? ['because'] : []);
  }
});

it('a status after headers without metadata is sent as trailers-only, so that clients may retry', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(1));
  await backend.behave({ do: 'headers', headers: { 'grpc-encoding': 'gzip' } }, { do: 'end', status: 14 });
  const { status, headers } = await rawClient(port).call('a');
  expect(status).toBe(14);
  expect(headers).toMatchObject({ 'grpc-status': '14' });
});

describe('a batch', () => {
  it('never contains items of callers with different credentials', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, { methods: [{ method: '*/Compute', maxBatchSize: 16 }] });
    const client = rawClient(port);
    const callers = ['Bearer one', 'Bearer two', 'bearer one', undefined];
    const calls = Array.from({ length: 120 }, async (_, index) => {
      const authorization = callers[index % callers.length];
      const headers = authorization === undefined ? {} : { authorization };
      expect((await client.call(String(authorization), { headers })).status).toBe(0);
    });
    await Promise.all(calls);
    await backend.flushed();
    for (const { headers, texts } of backend.streams)
      expect(new Set(texts)).toEqual(new Set([String(headers.authorization)]));
    expect(Math.max(...backend.streams.map(({ items }) => items.length))).toBeGreaterThan(1);
  });

  // Different sets of values must never have equal group keys.
  it('contains only items with equal values of all grouping metadata', async () => {
    const backend = await rawBackend();
    const groupBy = { metadata: ['x-a', 'x-b', 'x-c-bin'] };
    const { port } = await proxied(backend, {
      methods: [{ method: '*/Compute', maxBatchSize: 16, groupBy }],
    });
    const client = rawClient(port);
    const value = fc.option(
      fc.constantFrom<string>(
        'a',
        'b',
        'a,b',
        'b,a',
        'a, b',
        'a|b',
        '"',
        'a","b',
        '[',
        'a=b',
        ';',
        'undefined',
        'null',
        '',
      ),
      { nil: undefined },
    );
    const headers = fc
      .record({ 'x-a': value, 'x-b': value })
      .map((entries) =>
        Object.fromEntries(
          Object.entries(entries).filter((entry): entry is [string, string] => entry[1] !== undefined),
        ),
      );
    await fc.assert(
      fc.asyncProperty(fc.array(headers, { minLength: 10, maxLength: 40 }), async (all) => {
        await Promise.all(
          all.map(async (own) =>
            expect((await client.call(JSON.stringify(own), { headers: own })).status).toBe(0),
          ),
        );
      }),
      { numRuns: 20 },
    );
    await backend.flushed();
    for (const { headers: common, texts } of backend.streams)
      for (const text of texts) {
        const own = JSON.parse(text);
        // An empty value and a missing one are equal for a backend.
        expect({ a: common['x-a'] || '', b: common['x-b'] || '' }).toEqual({
          a: own['x-a'] || '',
          b: own['x-b'] || '',
        });
      }
  });

  it('contains only items of one encoding and declares it', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, { methods: [{ method: '*/Compute', maxBatchSize: 16 }] });
    const client = rawClient(port);
    const encodings = ['gzip', 'deflate', undefined];
    const calls = Array.from({ length: 90 }, async (_, index) => {
      const encoding = encodings[index % encodings.length];
      const headers = encoding === undefined ? {} : { 'grpc-encoding': encoding };
      // Messages of a compressed stream may be uncompressed: each has a compressed flag.
      const flag = encoding !== undefined && index % 2 === 0 ? 1 : 0;
      const answer = await client.call('', { headers, body: framed(`${encoding}`, flag) });
      expect(answer).toMatchObject({ status: 0, text: `${encoding}` });
    });
    await Promise.all(calls);
    await backend.flushed();
    for (const { headers, texts } of backend.streams) {
      const encoding = headers['grpc-encoding'];
      expect(new Set(texts)).toEqual(new Set([encoding === 'identity' ? 'undefined' : `${encoding}`]));
    }
    const flags = backend.streams.flatMap(({ items }) => items.map(({ flag }) => flag));
    expect(flags.filter((flag) => flag === 1)).toHaveLength(30);
  });

  it('contains only items whose callers accept the same encodings', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, { methods: [{ method: '*/Compute', maxBatchSize: 16 }] });
    const client = rawClient(port);
    const accepted = ['gzip', 'identity', 'identity,deflate,gzip'];
    const calls = Array.from({ length: 60 }, (_, index) => {
      const accepts = accepted[index % accepted.length] ?? '';
      return client.call(accepts, { headers: { 'grpc-accept-encoding': accepts } });
    });
    for (const { status } of await Promise.all(calls)) expect(status).toBe(0);
    await backend.flushed();
    for (const { headers, texts } of backend.streams)
      expect(new Set(texts)).toEqual(new Set([headers['grpc-accept-encoding']]));
  });

  it('contains only items of one length bucket', async () => {
    const backend = await rawBackend();
    const groupBy = { messageBytes: [10, 100] };
    const { port } = await proxied(backend, {
      methods: [{ method: '*/Compute', maxBatchSize: 16, groupBy }],
    });
    const client = rawClient(port);
    const lengths = [0, 9, 10, 11, 99, 100, 101, 5000];
    const calls = Array.from({ length: 120 }, (_, index) => client.call('x'.repeat(lengths[index % 8] ?? 0)));
    for (const { status } of await Promise.all(calls)) expect(status).toBe(0);
    const bucket = (length: number) => (length <= 10 ? 0 : length <= 100 ? 1 : 2);
    await backend.flushed();
    for (const { items } of backend.streams)
      expect(new Set(items.map(({ length }) => bucket(length))).size).toBe(1);
    const mixed = backend.streams.filter(({ items }) => new Set(items.map(({ length }) => length)).size > 1);
    expect(mixed.length).toBeGreaterThan(0);
  });

  it('contains only items of one method and is sent to its batched method', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, {
      methods: [
        { method: '/test.Echo/Score', batched: 'ScoreAll', maxBatchSize: 8 },
        { method: '/test.Echo/Rank', batched: '/other.Service/RankThem', maxBatchSize: 8 },
        { method: '*/Compute', maxBatchSize: 8 },
      ],
    });
    const client = rawClient(port);
    const paths = ['/test.Echo/Score', '/test.Echo/Rank', '/test.Echo/Compute', '/test.Other/Compute'];
    const calls = Array.from({ length: 80 }, (_, index) => {
      const path = paths[index % 4] ?? '';
      return client.call(path, { path });
    });
    for (const { status } of await Promise.all(calls)) expect(status).toBe(0);
    const expected: Record<string, string> = {
      '/test.Echo/ScoreAll': '/test.Echo/Score',
      '/other.Service/RankThem': '/test.Echo/Rank',
      '/test.Echo/BatchedCompute': '/test.Echo/Compute',
      '/test.Other/BatchedCompute': '/test.Other/Compute',
    };
    await backend.flushed();
    expect(new Set(backend.streams.map(({ path }) => path))).toEqual(new Set(Object.keys(expected)));
    for (const { path, texts } of backend.streams) expect(new Set(texts)).toEqual(new Set([expected[path]]));
  });
});
