import { constants } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../redis/test/support/eventually.js';
import { framed } from '../support/framing.js';
import { batchesOf, type Proxied, proxied } from '../support/proxied.js';
import { type RawBackend, rawBackend, type Step } from '../support/raw-backend.js';
import { type RawAnswer, type RawClient, rawClient } from '../support/raw-client.js';
import { settledOf } from '../support/settled.js';

interface Setting extends Proxied {
  readonly backend: RawBackend;
  readonly client: RawClient;
}

async function setting(size: number): Promise<Setting> {
  const backend = await rawBackend();
  const running = await proxied(backend, batchesOf(size));
  return { ...running, backend, client: rawClient(running.port) };
}

/** In the order of the batch, which on one connection is the order in which the calls were sent. */
function callAll(client: RawClient, ...messages: readonly string[]): Promise<RawAnswer>[] {
  return messages.map((message) => client.call(message));
}

async function isWellAfter({ backend, client }: Setting, size: number): Promise<void> {
  await backend.behave({ do: 'echo' }, { do: 'end' });
  const again = Array.from({ length: size }, (_, index) => `again ${index}`);
  const answers = await Promise.all(callAll(client, ...again));
  expect(answers.map(({ status, text }) => ({ status, text }))).toEqual(
    again.map((text) => ({ status: 0, text })),
  );
}

it('completes each caller when its answer arrives, in order', async () => {
  const { backend, client } = await setting(3);
  await backend.behave(
    { do: 'echo', count: 1 },
    { do: 'hold', name: 'second' },
    { do: 'echo', count: 1 },
    { do: 'hold', name: 'third' },
    { do: 'echo' },
    { do: 'hold', name: 'end' },
    { do: 'end' },
  );
  const calls = callAll(client, 'a', 'b', 'c');
  const settled = settledOf(calls);
  const [first, second, third] = calls;
  expect(await first).toMatchObject({ status: 0, text: 'a' });
  await backend.untilHeld('second');
  expect(settled()).toEqual([0]);
  await backend.release('second');
  expect(await second).toMatchObject({ status: 0, text: 'b' });
  await backend.untilHeld('third');
  expect(settled()).toEqual([0, 1]);
  await backend.release('third');
  // The stream has not ended.
  expect(await third).toMatchObject({ status: 0, text: 'c' });
});

it('answers that arrive before the request was read completely are delivered at once', async () => {
  const { backend, client } = await setting(2);
  await backend.behave(
    { do: 'at once' },
    { do: 'write', hex: framed('early').toString('hex') },
    { do: 'write', hex: framed('birds').toString('hex') },
    { do: 'end' },
  );
  const answers = await Promise.all(callAll(client, 'a', 'b'));
  expect(answers.map(({ status, text }) => [status, text])).toEqual([
    [0, 'early'],
    [0, 'birds'],
  ]);
});

describe('answered callers keep their answers and the rest get the status when the backend', () => {
  const half: Step = { do: 'echo', count: 2 };
  const INTERNAL = 13;
  const UNAVAILABLE = 14;
  const cases: [what: string, steps: Step[], status: number][] = [
    ['ends with OK too early', [half, { do: 'end' }], INTERNAL],
    ['ends without a status', [half, { do: 'end without trailers' }], -1],
    ['fails mid-way', [half, { do: 'end', status: 9, message: 'no more' }], 9],
    ['resets the stream', [half, { do: 'reset', code: constants.NGHTTP2_INTERNAL_ERROR }], INTERNAL],
    [
      'refuses the stream mid-way',
      [half, { do: 'reset', code: constants.NGHTTP2_REFUSED_STREAM }],
      UNAVAILABLE,
    ],
    ['closes the connection', [half, { do: 'destroy' }], UNAVAILABLE],
    ['sends an unknown flag', [half, { do: 'write', hex: `07${'00000001'}61` }, { do: 'nothing' }], INTERNAL],
    ['cuts a message short', [half, { do: 'write', hex: '000000006461' }, { do: 'end' }], INTERNAL],
    ['cuts a prefix short', [half, { do: 'write', hex: '0000' }, { do: 'end' }], INTERNAL],
    ['declares four gigabytes', [half, { do: 'write', hex: '00ffffffff61' }, { do: 'nothing' }], 8],
    ['sends invalid bytes', [half, { do: 'write', hex: 'deadbeef'.repeat(50) }, { do: 'nothing' }], INTERNAL],
  ];

  for (const [what, steps, status] of cases)
    it(what, async () => {
      const all = await setting(4);
      await all.backend.behave(...steps);
      const [a, b, c, d] = await Promise.all(callAll(all.client, 'a', 'b', 'c', 'd'));
      expect(a).toMatchObject({ status: 0, text: 'a' });
      expect(b).toMatchObject({ status: 0, text: 'b' });
      for (const rest of [c, d]) {
        if (status === -1) expect(rest?.status).toBeGreaterThan(0);
        else expect(rest).toMatchObject({ status, messages: [] });
        expect(rest?.message).not.toBe('');
      }
      expect(all.backend.begun).toBe(1);
      await isWellAfter(all, 4);
    });
});

it('the error for too few answers contains their number', async () => {
  const { backend, client } = await setting(3);
  await backend.behave({ do: 'echo', count: 2 }, { do: 'end' });
  const [, , third] = await Promise.all(callAll(client, 'a', 'b', 'c'));
  expect(third?.message).toMatch(/\b3\b/);
  expect(third?.message).toMatch(/\b2\b/);
});

it('surplus answers are ignored and logged once per batch', async () => {
  const all = await setting(2);
  const extra = framed('too much').toString('hex').repeat(3);
  await all.backend.behave(
    { do: 'echo' },
    { do: 'write', hex: extra },
    { do: 'hold', name: 'end' },
    { do: 'end' },
  );
  const answers = await Promise.all(callAll(all.client, 'a', 'b'));
  expect(answers.map(({ status, text }) => [status, text])).toEqual([
    [0, 'a'],
    [0, 'b'],
  ]);
  await all.backend.untilHeld('end');
  await all.backend.release('end');
  await isWellAfter(all, 2);
  const mentioned = () => all.log.filter((line) => /surplus/.test(line)).length;
  await eventually('it to be logged', () => mentioned() > 0);
  expect(mentioned()).toBe(1);
});

it('a stream that is rejected without reading fails every caller with its status', async () => {
  const all = await setting(2);
  await all.backend.behave({ do: 'at once' }, { do: 'trailers only', status: 16, message: 'unknown token' });
  const answers = await Promise.all(callAll(all.client, 'a', 'b'));
  for (const answer of answers)
    expect(answer).toMatchObject({ status: 16, message: 'unknown token', messages: [] });
  await isWellAfter(all, 2);
});

it('an answer above the size limit fails only its caller', async () => {
  const backend = await rawBackend();
  const running = await proxied(backend, { ...batchesOf(4), maxMessageBytes: 1000 });
  const all = { ...running, backend, client: rawClient(running.port) };
  const tooLarge = framed(Buffer.alloc(1001)).toString('hex');
  await backend.behave(
    { do: 'echo', count: 1 },
    { do: 'write', hex: tooLarge },
    { do: 'write', hex: framed(Buffer.from('third')).toString('hex') },
    { do: 'write', hex: tooLarge },
    { do: 'end' },
  );
  const [a, b, c, d] = await Promise.all(callAll(all.client, 'a', 'b', 'c', 'd'));
  expect(a).toMatchObject({ status: 0, text: 'a' });
  expect(b).toMatchObject({
    status: 8,
    message: expect.stringContaining('at most 1000 bytes, got 1001'),
  });
  expect(c).toMatchObject({ status: 0, text: 'third' });
  expect(d).toMatchObject({ status: 8 });
  await isWellAfter(all, 4);
});

it('oversized trailers fail only the unanswered callers', async () => {
  const all = await setting(2);
  await all.backend.behave(
    { do: 'echo', count: 1 },
    { do: 'end', status: 3, trailers: { 'x-huge': 'x'.repeat(60_000) } },
  );
  const [a, b] = await Promise.all(callAll(all.client, 'a', 'b'));
  expect(a).toMatchObject({ status: 0, text: 'a' });
  expect(b?.status).toBeGreaterThan(0);
  await isWellAfter(all, 2);
});

describe('item errors', () => {
  it('fail only their own caller', async () => {
    const all = await setting(4);
    const errors = ['1 3 bad%20item%3A%20%C3%A4', '3 5 gone'];
    await all.backend.behave(
      { do: 'headers', headers: { 'batchwise-item-error': errors, 'x-model': 'm' } },
      { do: 'echo' },
      { do: 'end' },
    );
    const answers = await Promise.all(callAll(all.client, 'a', 'b', 'c', 'd'));
    expect(answers.map(({ status, message, text }) => [status, message, text])).toEqual([
      [0, '', 'a'],
      [3, 'bad item: ä', ''],
      [0, '', 'c'],
      [5, 'gone', ''],
    ]);
    for (const { headers } of answers) expect(headers).not.toHaveProperty('batchwise-item-error');
    await isWellAfter(all, 4);
  });

  const malformed = [
    '',
    'x',
    '1',
    '-1 3 a',
    '99 3 a',
    '0 0 fine',
    '0 99 a',
    '1e1 3 a',
    '0 3 %zz',
    '0  ',
    'NaN NaN',
  ];
  for (const error of malformed)
    it(`that are malformed (${JSON.stringify(error)}) do not affect the proxy, and every call ends`, async () => {
      const all = await setting(2);
      await all.backend.behave(
        { do: 'headers', headers: { 'batchwise-item-error': error } },
        { do: 'echo' },
        { do: 'end' },
      );
      const answers = await Promise.all(callAll(all.client, 'a', 'b'));
      expect(answers[1]).toMatchObject({ status: 0, text: 'b' });
      expect(answers[0]?.status).toBeGreaterThanOrEqual(0);
      await isWellAfter(all, 2);
    });
});
