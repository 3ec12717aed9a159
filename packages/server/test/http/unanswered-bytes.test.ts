/**
 * Bodies that were received and are not answered. Root cause of what was found: each was limited, and their sum
 * was not.
 */
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { ByteBudget } from '../../src/byte-budget.js';
import { HttpStage } from './support/http-stage.js';
import { get, post, type RawClient } from './support/raw-client.js';

const MAX = 10_000_000;
const BODY = Buffer.alloc(1_000_000, 'x');

async function opened(): Promise<{ stage: HttpStage; budget: ByteBudget }> {
  const budget = new ByteBudget(MAX);
  return { stage: await HttpStage.open({ budget, limits: { maxBodyBytes: MAX } }), budget };
}

/** The status of a client that may be told before it has sent all. */
const statusOf = (client: RawClient) => client.answer().then(({ status }) => status);

describe('bodies of requests that are not answered', () => {
  test('are counted as they come, and until they are answered', async () => {
    const { stage, budget } = await opened();
    const client = await stage.client();
    const request = post('/held', BODY);
    client.send(request.subarray(0, 500_000));
    while (budget.used < 490_000) await new Promise(setImmediate);
    client.send(request.subarray(500_000));
    const call = await stage.heldCall();
    expect(budget.used).toBe(BODY.length);
    call.reply(200, {}, '');
    expect(budget.used).toBe(0);
    await client.answer();
  });

  test.each([
    ['that come with their heads', Buffer.from('x')],
    ['that are empty', Buffer.alloc(0)],
  ])('%s are counted too', async (_, body) => {
    const { stage, budget } = await opened();
    const client = await stage.client();
    client.send(post('/held', body));
    const call = await stage.heldCall();
    expect(budget.used).toBe(body.length);
    call.reply(200, {}, '');
    expect(budget.used).toBe(0);
  });

  test('are rejected with 503 beyond the budget, and others are accepted', async () => {
    const { stage, budget } = await opened();
    const clients = await Promise.all(Array.from({ length: 40 }, () => stage.client()));
    const statuses: number[] = [];
    for (const client of clients) {
      client.send(post('/held', Buffer.alloc(900_000)));
      void statusOf(client).then(
        (status) => statuses.push(status),
        () => statuses.push(0),
      );
    }
    while (statuses.length + stage.held.length < 40) await new Promise(setImmediate);
    expect(budget.used).toBeLessThanOrEqual(MAX);
    expect(stage.held.length).toBeGreaterThan(5);
    expect(stage.ended.map(({ status }) => status)).toEqual(Array(40 - stage.held.length).fill(503));
    const other = await stage.client();
    expect((await other.send(post('/echo', 'small')).answer()).body).toBe('small');
    for (const call of stage.held) call.reply(200, {}, '');
    await stage.until(() => stage.ended.length === 41);
    expect(budget.used).toBe(0);
  });

  test('of one client take half of it at most', async () => {
    const { stage, budget } = await opened();
    const client = await stage.client();
    client.send(Buffer.concat(Array.from({ length: 20 }, () => post('/held', BODY))));
    await stage.until(() => stage.ended.length === 1);
    expect(budget.used).toBeLessThanOrEqual(MAX / 2 + 1000);
    expect(stage.ended[0]?.status).toBe(503);
    client.hangUp();
    await stage.connectionsLeft(0);
    expect(budget.used).toBe(0);
  });

  test('in chunks are told 503 and cut off', async () => {
    const { stage, budget } = await opened();
    const client = await stage.client();
    client.send('POST /held HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
    const chunk = Buffer.concat([Buffer.from('f4240\r\n'), BODY, Buffer.from('\r\n')]);
    for (let i = 0; i < 9; i++) client.send(chunk);
    const { status, headers, body } = await client.answer();
    expect([status, headers.get('retry-after'), headers.get('connection')]).toEqual([503, '1', 'close']);
    expect(JSON.parse(body).code).toBe('MEMORY_FULL');
    await client.closed();
    expect(budget.used).toBe(0);
  });

  test('are counted as decompressed', async () => {
    const { stage, budget } = await opened();
    const client = await stage.client();
    const body = gzipSync(Buffer.concat([randomBytes(20_000), Buffer.alloc(480_000)]));
    client.send(post('/held', body, 'content-encoding: gzip\r\n'));
    const call = await stage.heldCall();
    expect(call.body.length).toBe(500_000);
    expect(budget.used).toBe(500_000);
    client.hangUp();
    await stage.until(() => stage.ended.length === 1);
    expect(budget.used).toBe(0);
  });

  test('do not keep health from being told', async () => {
    const { stage, budget } = await opened();
    budget.share().add(MAX);
    const client = await stage.client();
    expect((await client.send(get('/health')).answer()).status).toBe(200);
    expect((await client.send(post('/echo', 'x')).answer()).status).toBe(503);
  });
});
