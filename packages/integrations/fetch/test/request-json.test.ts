import { requestJson } from '@batchwise/fetch';
import { Batcher } from 'batchwise';
import { expect, test } from 'vitest';
import { localServer } from './local-server.js';

const answering = (status: number, body: string, headers: Record<string, string> = {}) => ({
  fetch: async () => new Response(body, { status, headers }),
});
const post = { method: 'POST' };

test('sends the request of a batcher of your own', async () => {
  const server = await localServer(({ body }) => ({ body: JSON.parse(body).map((id: number) => 10 * id) }));
  const prices = new Batcher(async (ids: number[], { name, signal }) => {
    const init = { method: 'POST', body: JSON.stringify(ids), signal };
    return (await requestJson(name, `${server.url}/prices`, init)) as number[];
  });
  expect(await prices.submitMany([1, 2])).toEqual([10, 20]);
  expect(server.requests).toMatchObject([{ method: 'POST', url: '/prices', body: '[1,2]' }]);
  await prices.close();
});

test.each<[number, string, string]>([
  [409, 'bad item', 'INVALID_ITEM'],
  [409, 'try later', 'HANDLER_FAILED'],
  [400, 'try later', 'HANDLER_FAILED'],
  [429, 'bad item', 'OVERLOADED'],
  [503, 'bad item', 'UNAVAILABLE'],
])('asks isForContent about status %i with "%s": %s', async (status, body, code) => {
  const isForContent = (of: number, text: string) => of === 409 && text.startsWith('bad');
  const options = { ...answering(status, body), isForContent };
  const url = 'http://localhost/';
  await expect(requestJson('own', url, post, options)).rejects.toMatchObject({
    code,
    cause: { method: 'POST', url, status, body },
  });
});

test.each<[string | undefined, Record<string, string>, number | undefined]>([
  ['x-wait-ms', { 'x-wait-ms': '1500', 'retry-after': '2' }, 1500],
  ['x-wait-ms', { 'x-wait-ms': 'soon', 'retry-after': '2' }, 2000],
  ['x-wait-ms', { 'retry-after': '2' }, 2000],
  [undefined, { 'retry-after-ms': '1500', 'retry-after': '2' }, 2000],
  [undefined, { 'retry-after-ms': '1500' }, undefined],
])('with retryAfterMsHeader %s and headers %o has retryAfterMs %s', async (name, headers, retryAfterMs) => {
  const options = { ...answering(429, '', headers), retryAfterMsHeader: name };
  const error: unknown = await requestJson('own', 'http://localhost/', post, options).catch(
    (thrown) => thrown,
  );
  expect(error).toMatchObject({ code: 'OVERLOADED' });
  expect((error as { retryAfterMs?: number }).retryAfterMs).toBe(retryAfterMs);
});
