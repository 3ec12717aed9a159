import { constants } from 'node:http2';
import { expect, it } from 'vitest';
import { framed } from '../support/framing.js';
import { grpcClient } from '../support/grpc-client.js';
import { batchesOf, proxied } from '../support/proxied.js';
import { rawBackend } from '../support/raw-backend.js';
import { rawClient } from '../support/raw-client.js';

const CANCEL = constants.NGHTTP2_CANCEL;

it('a cancelled call in the queue never reaches the backend, and the others do', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(2));
  const client = rawClient(port);
  const leaving = client.open();
  leaving.write(framed('leaving'));
  leaving.end();
  // On the same connection the call after the reset finds a free place in the queue.
  await new Promise<void>((resolve) => leaving.once('finish', resolve));
  leaving.close(CANCEL);
  await new Promise<void>((resolve) => leaving.once('close', resolve));
  const [a, b] = await Promise.all([client.call('a'), client.call('b')]);
  expect(a).toMatchObject({ status: 0, text: 'a' });
  expect(b).toMatchObject({ status: 0, text: 'b' });
  await backend.flushed();
  expect(backend.streams.map(({ texts }) => texts)).toEqual([['a', 'b']]);
});

it('a caller that cancels during its batch does not shift the answers of the others', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(3));
  await backend.behave({ do: 'hold', name: 'gate' }, { do: 'echo', mark: '!' }, { do: 'end' });
  const client = rawClient(port);
  const first = client.call('first');
  const leaving = client.open();
  leaving.end(framed('leaving'));
  const third = client.call('third');
  const id = await backend.untilHeld('gate');
  leaving.close(CANCEL);
  await new Promise<void>((resolve) => leaving.once('close', resolve));
  // The proxy has read the reset when it has read a later call of the connection.
  await new Promise<void>((resolve) => client.session.ping(() => resolve()));
  await backend.release('gate');
  expect(await first).toMatchObject({ status: 0, text: 'first!' });
  expect(await third).toMatchObject({ status: 0, text: 'third!' });
  expect(await backend.untilClosed(id)).toMatchObject({ rstCode: 0, answered: 3 });
});

it('the backend sees a cancellation when all callers of a batch have cancelled, and serves the next batch', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(2));
  await backend.behaveOnce([{ do: 'nothing' }]);
  const client = grpcClient(port);
  const calls = [client.begin('a'), client.begin('b')];
  const { id } = await backend.nextStream();
  for (const { call } of calls) call.cancel();
  for (const { answer } of calls) expect((await answer).status).toBe(1);
  expect(await backend.untilClosed(id)).toMatchObject({ rstCode: CANCEL });
  const next = await Promise.all([client.call('c'), client.call('d')]);
  expect(next.map(({ status }) => status)).toEqual([0, 0]);
});

it('the backend sees no cancellation while one caller of a batch remains', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(2));
  await backend.behaveOnce([{ do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' }]);
  const client = grpcClient(port);
  const leaving = client.begin('a');
  const staying = client.begin('b');
  const id = await backend.untilHeld('gate');
  leaving.call.cancel();
  expect((await leaving.answer).status).toBe(1);
  await backend.release('gate');
  const { status, answer } = await staying.answer;
  expect([status, String(answer)]).toEqual([0, 'b']);
  expect(await backend.untilClosed(id)).toMatchObject({ rstCode: 0 });
});

it('a broken connection cancels all of its calls, queued and in flight', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(2));
  await backend.behaveOnce([{ do: 'nothing' }]);
  const breaking = rawClient(port);
  for (const message of ['a', 'b', 'c']) void breaking.call(message);
  const { id } = await backend.nextStream();
  breaking.breakOff();
  expect(await backend.untilClosed(id)).toMatchObject({ rstCode: CANCEL });
  const client = rawClient(port);
  const next = await Promise.all([client.call('d'), client.call('e')]);
  expect(next.map(({ text }) => text)).toEqual(['d', 'e']);
  await backend.flushed();
  expect(backend.streams.map(({ texts }) => texts)).toEqual([
    ['a', 'b'],
    ['d', 'e'],
  ]);
});

it('a caller that cancels during its message is released', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(2));
  const client = rawClient(port);
  for (let cut = 0; cut < 8; cut += 1) {
    const leaving = client.open();
    await new Promise<void>((resolve) => leaving.write(framed('leaving').subarray(0, cut), () => resolve()));
    leaving.close(CANCEL);
  }
  const answers = await Promise.all([client.call('a'), client.call('b')]);
  expect(answers).toMatchObject([{ status: 0 }, { status: 0 }]);
  await backend.flushed();
  expect(backend.streams.map(({ texts }) => texts)).toEqual([['a', 'b']]);
});

it('a unary call with no message, two messages or an invalid one fails and is not batched', async () => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, batchesOf(1));
  const client = rawClient(port);
  const broken: [what: string, body: Buffer][] = [
    ['nothing', Buffer.alloc(0)],
    ['half a prefix', Buffer.alloc(3)],
    ['half a message', framed('whole').subarray(0, 7)],
    ['two messages', Buffer.concat([framed('one'), framed('two')])],
    ['a message and two more bytes', Buffer.concat([framed('one'), Buffer.alloc(2)])],
    ['an invalid compressed flag', framed('one', 2)],
    ['an invalid compressed flag', framed('one', 255)],
    ['a length of four gigabytes', Buffer.from('00ffffffff', 'hex')],
  ];
  for (const [what, body] of broken) {
    const { status, messages } = await client.call('', { body });
    expect({ what, isFailed: status > 0, messages }).toEqual({ what, isFailed: true, messages: [] });
  }
  // Compressed without grpc-encoding: the backend could not decompress it.
  expect((await client.call('', { body: framed('one', 1) })).status).toBeGreaterThan(0);
  expect(await client.call('fine')).toMatchObject({ status: 0, text: 'fine' });
  await backend.flushed();
  expect(backend.streams.map(({ texts }) => texts)).toEqual([['fine']]);
});
