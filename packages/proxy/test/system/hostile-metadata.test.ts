/** Headers and trailers that are allowed, or nearly so, and that would break a batch if they were simply passed on. */
import { describe, expect, it } from 'vitest';
import { framed } from '../support/framing.js';
import { grpcBackend } from '../support/grpc-backend.js';
import { batchesOf, proxied } from '../support/proxied.js';
import { rawBackend } from '../support/raw-backend.js';
import { rawClient } from '../support/raw-client.js';

describe('headers of callers', () => {
  it('that speak of their own message are not those of the batch', async () => {
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

  it('that speak of a connection or a host are not those of the batch', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    const client = rawClient(port);
    for (const headers of [{ host: 'elsewhere.example' }, { expect: '100-continue' }, { trailer: 'x-a' }]) {
      const { status } = await client.call('x', { headers });
      expect([headers, status]).toEqual([headers, 0]);
    }
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
      // Nobody keeps spaces around a value.
      expect(seen.trim()).toBe(value.trim());
    }
  });

  it('of binary metadata that is no base64 fail nobody else', async () => {
    const backend = await grpcBackend();
    const { port } = await proxied(backend, batchesOf(2));
    const client = rawClient(port);
    const answers = await Promise.all([
      client.call('bad', { headers: { 'x-bin': '***', 'grpc-tags-bin': '***' } }),
      client.call('good', { headers: { 'x-bin': 'AAE' } }),
    ]);
    expect(answers[1]).toMatchObject({ status: 0, text: 'good' });
  });

  it('said twice end the call or count once', async () => {
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

it('a message that says it is compressed, and not how, does not fail its neighbours', async () => {
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
  it('that speak of its own stream are not those of an answer', async () => {
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

  it('that come again and again arrive', async () => {
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
  it('may have a message that is wrongly coded, long, or empty', async () => {
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

  it('may have any name, and those of single items mean nothing there', async () => {
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
