/**
 * Clients that send requests and do not read the answers. Root cause of what was found: requests were begun by
 * their number, up to 128 of a connection, whatever the size of their answers, on any number of connections.
 */
import { describe, expect, test } from 'vitest';
import { ByteBudget } from '../../src/byte-budget.js';
import type { HttpRoute } from '../../src/http/http-route.js';
import { HttpStage } from './support/http-stage.js';
import { get, type RawClient } from './support/raw-client.js';

const ANSWER = Buffer.alloc(500_000);

const routes: readonly HttpRoute[] = [
  { method: 'GET', path: '/at-once', isWork: false, handle: (call) => call.reply(200, {}, ANSWER) },
  {
    method: 'GET',
    path: '/later',
    isWork: false,
    async handle(call) {
      await Promise.resolve();
      call.reply(200, {}, ANSWER);
    },
  },
  {
    method: 'GET',
    path: '/in-a-turn',
    isWork: false,
    async handle(call) {
      await new Promise(setImmediate);
      call.reply(200, {}, ANSWER.toString('latin1'));
    },
  },
];

/** Until nothing has been answered for many turns. */
async function quiet(stage: HttpStage): Promise<void> {
  for (let last = -1, turns = 0; turns < 300; turns++) {
    await new Promise(setImmediate);
    if (stage.ended.length !== last) turns = 0;
    last = stage.ended.length;
  }
}

/** With its answers unread. */
async function asking(stage: HttpStage, bytes: string): Promise<RawClient> {
  const client = await stage.client();
  client.socket.pause();
  client.send(bytes);
  return client;
}

describe('answers that are not read', () => {
  test.each(['/at-once', '/later', '/in-a-turn'])('of one client are few: %s', async (path) => {
    const budget = new ByteBudget(2 ** 30);
    const stage = await HttpStage.open({ budget }, routes);
    const client = await asking(stage, get(path).repeat(2000));
    await quiet(stage);
    // Of a kind whose size is known, one at a time; before that, what is begun in the first turns.
    expect(budget.used).toBeLessThanOrEqual(128 * (ANSWER.length + 1000));
    const held = budget.used;
    client.socket.resume();
    for (let i = 0; i < 200; i++) {
      await client.answer();
      expect(budget.used).toBeLessThanOrEqual(held + ANSWER.length + 1000);
    }
    client.hangUp();
    await stage.connectionsLeft(0);
    expect(budget.used).toBe(0);
  });

  test('of a known size are held by their bytes, not by their number', async () => {
    const budget = new ByteBudget(2 ** 30);
    const stage = await HttpStage.open({ budget }, routes);
    const client = await stage.client();
    await client.send(get('/in-a-turn')).answer();
    client.socket.pause();
    client.send(get('/in-a-turn').repeat(2000));
    await quiet(stage);
    expect(budget.used).toBeLessThanOrEqual(2 * (ANSWER.length + 1000));
  });

  test('of many clients stay within the budget, and others are answered', async () => {
    const budget = new ByteBudget(20_000_000);
    const stage = await HttpStage.open({ budget }, routes);
    const clients: RawClient[] = [];
    for (let i = 0; i < 100; i++) clients.push(await asking(stage, get('/in-a-turn').repeat(100)));
    await quiet(stage);
    expect(budget.used).toBeLessThanOrEqual(budget.max + 1_000_000);
    expect(stage.ended.some(({ status }) => status === 503)).toBe(true);
    const other = await stage.client();
    expect((await other.send(get('/health')).answer()).status).toBe(200);
    for (const client of clients) client.hangUp();
    await stage.connectionsLeft(1);
    expect(budget.used).toBe(0);
    expect((await other.send(get('/in-a-turn')).answer()).status).toBe(200);
  });

  test('are counted while earlier ones are still computed', async () => {
    const budget = new ByteBudget(2 ** 30);
    const stage = await HttpStage.open({ budget }, routes);
    const client = await stage.client();
    client.send(get('/held') + get('/at-once').repeat(100));
    const first = await stage.heldCall();
    await quiet(stage);
    expect(budget.used).toBeGreaterThan(ANSWER.length);
    expect(budget.used).toBeLessThanOrEqual(2 * (ANSWER.length + 1000));
    first.reply(200, {}, 'first');
    expect((await client.answer()).body).toBe('first');
    for (let i = 0; i < 100; i++) expect((await client.answer()).status).toBe(200);
    expect(budget.used).toBe(0);
  });

  test('are counted on a connection that is to be closed, too', async () => {
    const budget = new ByteBudget(2 ** 30);
    const large = Buffer.alloc(20_000_000);
    const route: HttpRoute = {
      method: 'GET',
      path: '/large',
      isWork: false,
      handle: (call) => call.reply(200, {}, large),
    };
    const stage = await HttpStage.open({ budget }, [route]);
    const client = await asking(stage, get('/large', 'connection: close\r\n'));
    await quiet(stage);
    expect(budget.used).toBeGreaterThan(large.length / 2);
    client.hangUp();
    await stage.connectionsLeft(0);
    expect(budget.used).toBe(0);
  });
});
