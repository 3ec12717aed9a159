/** Unusual or invalid headers and trailers that would break a batch if they were passed on unchanged. */
import { describe, expect, it } from 'vitest';
import { framed } from '../support/framing.js';
import { grpcBackend } from '../support/grpc-backend.js';
import { batchesOf, proxied } from '../support/proxied.js';
import { rawBackend } from '../support/raw-backend.js';
import { answerOf, computePath, rawClient } from '../support/raw-client.js';

describe('headers of callers', () => {
  it('that describe their own message are not sent with the batch', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(3));
    const client = rawClient(port);
    const headers = { 'content-length': String(framed('same').length) };
    const answers = await Promise.all(
      ['same', 'size', 'here'].map((message) => client.call(message, { headers })),
    );
    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [0, 'same'],
      [0, 'size'],
      [0, 'here'],
    ]);
    expect((await backend.nextStream()).headers).not.toHaveProperty('content-length');
  });

  it('that describe a connection or a host are not sent with the batch', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    const client = rawClient(port);
    for (const headers of [{ host: 'elsewhere.example' }, { expect: '100-continue' }, { trailer: 'x-a' }]) {
      const { status } = await client.call('x', { headers });
      expect([headers, status]).toEqual([headers, 0]);
    }
    await backend.flushed();
    for (const { headers } of backend.streams) expect(headers).not.toHaveProperty('host');
  });

  it('may have any name', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(2));
    const client = rawClient(port);
    const names = ['constructor', 'hasownproperty', 'tostring', 'then', '0', '-', '_', 'x.y', "!#$%&'*+^`|~"];
    const headers = Object.fromEntries(names.map((name) => [name, 'value']));
    Object.defineProperty(headers, '__proto__', { value: 'value', enumerable: true });
    const answers = await Promise.all([client.call('a', { headers }), client.call('b', { headers })]);
    expect(answers.map(({ status }) => status)).toEqual([0, 0]);
    const seen = (await backend.nextStream()).headers;
    for (const name of names.filter((one) => one !== '__proto__'))
      expect([name, seen[name]]).toEqual([name, 'value']);
  });

  it('may have any value', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(2));
    const client = rawClient(port);
    const values = ['', ' ', 'ä', 'x'.repeat(5000), '%00%0d%0a', '\t', 'a\tb', '"', ',', ', ,', 'null'];
    for (const value of values) {
      const headers = { 'x-value': value };
      const answers = await Promise.all([client.call('a', { headers }), client.call('b', { headers })]);
      expect(answers.map(({ status }) => [value, status])).toEqual([
        [value, 0],
        [value, 0],
      ]);
      const seen = (await backend.nextStream()).headers['x-value'] ?? '';
      // Spaces around a value are removed.
      expect(seen.trim()).toBe(value.trim());
    }
  });

  it('with invalid base64 fail only their own call', async () => {
    const backend = await grpcBackend();
    const { port } = await proxied(backend, batchesOf(2));
    const client = rawClient(port);
    const answers = await Promise.all([
      client.call('bad', { headers: { 'x-bin': '***', 'grpc-tags-bin': '***' } }),
      client.call('good', { headers: { 'x-bin': 'AAE' } }),
      client.call('good too', { headers: { 'x-bin': 'AAE' } }),
    ]);
    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [13, ''],
      [0, 'good'],
      [0, 'good too'],
    ]);
  });

  it('that occur twice are rejected or used once', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    const client = rawClient(port);
    for (const headers of [
      { 'grpc-encoding': ['gzip', 'identity'] },
      { 'grpc-accept-encoding': ['gzip', 'identity'] },
      { 'grpc-timeout': '1S, 2S' },
    ])
      expect((await client.call('x', { headers })).status).toBeGreaterThanOrEqual(0);
    expect(await client.call('x')).toMatchObject({ status: 0 });
  });
});

it('a compressed message without grpc-encoding fails only its own call', async () => {
  const backend = await grpcBackend();
  const { port } = await proxied(backend, batchesOf(2));
  const client = rawClient(port);
  const liar = client.call('', { body: framed('liar', 1) });
  const neighbour = client.call('neighbour');
  const third = client.call('third');
  expect((await liar).status).toBe(13);
  expect(await neighbour).toMatchObject({ status: 0, text: 'neighbour' });
  expect(await third).toMatchObject({ status: 0, text: 'third' });
});

describe('headers of the backend', () => {
  it('that describe its stream are not passed to callers', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(2));
    await backend.behave(
      { do: 'headers', headers: { 'content-length': '12', 'x-model': 'm' } },
      { do: 'echo' },
      { do: 'end' },
    );
    const client = rawClient(port);
    const answers = await Promise.all([client.call('a'), client.call('b')]);
    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [0, 'a'],
      [0, 'b'],
    ]);
    for (const { headers } of answers) {
      expect(headers).not.toHaveProperty('content-length');
      expect(headers['x-model']).toBe('m');
    }
  });

  it('that are repeated are all passed on', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    await backend.behave(
      { do: 'headers', headers: { 'x-many': ['a', 'b'], 'set-cookie': ['c=d', 'e=f'] } },
      { do: 'echo' },
      { do: 'end' },
    );
    const { headers, status } = await rawClient(port).call('x');
    expect(status).toBe(0);
    expect(headers['x-many']).toBe('a, b');
    expect(headers['set-cookie']).toEqual(['c=d', 'e=f']);
  });
});

describe('the trailers of the backend', () => {
  it('may have an invalid, long or empty message', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, { ...batchesOf(1), ejection: false });
    const client = rawClient(port);
    for (const message of ['100% sure', '%zz', '%E4', '%', '%F0%9F', 'x'.repeat(4000), '', '%00', 'a%0Ab']) {
      await backend.behave({ do: 'end', status: 3, message });
      const answer = await client.call('x');
      expect([message, answer.status]).toEqual([message, 3]);
    }
    await backend.behave({ do: 'end', status: 3, message: '100% sure' });
    expect((await client.call('x')).message).toBe('100% sure');
  });

  it('may have any name; item errors are ignored there', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    const trailers = {
      constructor: 'c',
      'x-a': ['1', '2'],
      'batchwise-item-error': '0 3 no',
    };
    await backend.behave({ do: 'end', status: 3, message: 'm', trailers: trailers as never });
    const answer = await rawClient(port).call('x');
    expect(answer).toMatchObject({ status: 3, message: 'm' });
    expect(answer.trailers['x-a']).toBe('1, 2');
  });
});

/** The values of one name, unmodified. */
function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1] === name);
}

/**
 * Root cause: Node joins entries of one name with a comma, which is invalid in base64. Servers on gRPC core close the
 * connection then, with the calls of all callers.
 */
describe('repeated binary metadata', () => {
  it.each([computePath, '/test.Echo/Other'])('stays separate on its way to the backend: %s', async (path) => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    const headers = { 'x-key-bin': ['YQ', 'Yg=='], 'x-one-bin': 'Yw' };
    expect((await rawClient(port).call('x', { path, headers })).status).toBe(0);
    const { rawHeaders } = await backend.nextStream();
    expect(valuesOf(rawHeaders, 'x-key-bin')).toEqual(['YQ', 'Yg==']);
    expect(valuesOf(rawHeaders, 'x-one-bin')).toEqual(['Yw']);
  });

  it.each([computePath, '/test.Echo/Other'])('stays separate on its way to the caller: %s', async (path) => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    await backend.behave(
      { do: 'headers', headers: { 'x-head-bin': ['YQ', 'Yg'] } },
      { do: 'end', status: 9, trailers: { 'x-tail-bin': ['YQ', 'Yg'] } },
    );
    const stream = rawClient(port).open({}, path);
    const seen: string[] = [];
    stream.on('response', (_headers, _flags, raw?: string[]) => seen.push(...(raw ?? [])));
    stream.on('trailers', (_headers, _flags, raw?: string[]) => seen.push(...(raw ?? [])));
    stream.end(framed('x'));
    expect((await answerOf(stream)).status).toBe(9);
    // A caller of a failed batch gets only its status.
    if (path !== computePath) expect(valuesOf(seen, 'x-head-bin')).toEqual(['YQ', 'Yg']);
    expect(valuesOf(seen, 'x-tail-bin')).toEqual(['YQ', 'Yg']);
  });
});

// Root cause: any metadata was forwarded, so one caller could cause the ejection or disconnection of every backend.
it.each([
  ['with invalid base64', { 'x-key-bin': '!!!' }, 13, /expected base64 in 'x-key-bin'/],
  ['above the limit of the backend', { 'x-key': 'x'.repeat(9000) }, 8, /accepts at most 8192 bytes/],
])(
  'metadata %s fails only its own call, and the backend is not ejected',
  async (_what, headers, status, message) => {
    const backend = await rawBackend({ settings: { maxHeaderListSize: 8192 } });
    const { port, proxy, log } = await proxied(backend, {
      ...batchesOf(1),
      maxBatchesInFlight: 2,
      ejection: { failures: 1, durationMs: 600_000 },
    });
    await backend.behaveOnce([{ do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' }]);
    const neighbour = rawClient(port).call('neighbour', { headers: { authorization: 'a' } });
    await backend.untilHeld('gate');
    const client = rawClient(port);
    for (const path of [computePath, '/test.Echo/Other'])
      for (let count = 0; count < 3; count += 1) {
        const answer = await client.call('x', { path, headers });
        expect(answer).toMatchObject({ status, message: expect.stringMatching(message) });
      }
    expect(proxy.stats().backends[0]).toMatchObject({ isUp: true, isEjected: false });
    await backend.release('gate');
    expect(await neighbour).toMatchObject({ status: 0, text: 'neighbour' });
    expect(backend.begun).toBe(1);
    expect(log.filter((line) => line.includes('is connected'))).toHaveLength(1);
  },
);

it('large metadata that is not shared by the batch is not sent', async () => {
  const backend = await rawBackend({ settings: { maxHeaderListSize: 8192 } });
  const { port } = await proxied(backend, batchesOf(2));
  const client = rawClient(port);
  const answers = await Promise.all([
    client.call('a', { headers: { 'x-key': 'x'.repeat(9000) } }),
    client.call('b', { headers: { 'x-key': 'y' } }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([0, 0]);
});
