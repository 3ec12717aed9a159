/** One Redis, and what may happen to it and to the way there. */
import { createHash } from 'node:crypto';
import { VirtualClock } from 'batchwise';
import { expect, onTestFinished, test } from 'vitest';
import { LinkClosedError, LinkLostError, ReplyError } from '../../src/connection/link.js';
import type { Script } from '../../src/connection/script.js';
import { startFakeRedis } from '../connection/fake-redis.js';
import { linkForThisTest } from '../connection/link-for-this-test.js';
import { startCutProxy } from '../support/cut-proxy.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { startRedis } from '../support/redis-server.js';

const incrementSource = "return redis.call('INCR', KEYS[1])";
const increment: Script = {
  name: 'increment',
  source: incrementSource,
  sha1: createHash('sha1').update(incrementSource).digest('hex'),
};

test('commands are answered, as text or as bytes', async () => {
  const redis = await forThisTest(startRedis());
  const text = linkForThisTest({ url: redis.url, replies: 'text' });
  const bytes = linkForThisTest({ url: redis.url, replies: 'bytes' });

  expect(await text.send('k', ['SET', 'k', Buffer.from([0xff, 0])])).toBe('OK');
  expect(await bytes.send('k', ['GET', 'k'])).toEqual(Buffer.from([0xff, 0]));
  expect(await text.send('k', ['HSET', 'h', 'a', '1'])).toBe(1);
  expect(await text.send('k', ['HGETALL', 'h'])).toEqual(['a', '1']);
  expect(await bytes.send('k', ['HGETALL', 'h'])).toEqual([Buffer.from('a'), Buffer.from('1')]);
  expect(await text.send('k', ['GET', 'none'])).toBeNull();
});

test('an error reply is an error with the message of Redis', async () => {
  const redis = await forThisTest(startRedis());
  const link = linkForThisTest({ url: redis.url });
  await link.send('k', ['SET', 'k', 'x']);
  const failing = link.send('k', ['XLEN', 'k']);
  await expect(failing).rejects.toThrow(ReplyError);
  await expect(failing).rejects.toMatchObject({
    code: 'WRONGTYPE',
    message: expect.stringContaining('Operation against'),
  });
});

test('what is sent in one turn of the event loop goes out without waiting for replies, in its order', async () => {
  const redis = await startFakeRedis(([name]) => (name === 'GET' ? '$-1\r\n' : undefined));
  const link = linkForThisTest({ url: redis.url });
  await link.send('k', ['GET', 'first']);
  await Promise.all([1, 2, 3, 4].map((n) => link.send('k', ['GET', `${n}`])));
  expect(redis.chunks).toEqual([['GET'], ['GET', 'GET', 'GET', 'GET']]);
});

// It was thrown away; had a command been under way, it would have been taken for that one's reply.
test('a reply that nobody asked for ends the connection', async () => {
  const redis = await startFakeRedis(([name]) => (name === 'GET' ? '$1\r\n1\r\n$1\r\n2\r\n' : undefined));
  const link = linkForThisTest({ url: redis.url });
  const whenDown = new Promise<Error>((resolve) => link.onDown(resolve));
  expect(await link.send('k', ['GET', 'k'])).toBe('1');
  expect((await whenDown).message).toBe('Redis sent a reply without a command');
  expect(await link.send('k', ['GET', 'k'])).toBe('1');
  expect(redis.connections).toBe(2);
});

test('a reply that cannot be read ends the connection, and what is under way is in doubt', async () => {
  const redis = await startFakeRedis(([name]) => (name === 'GET' ? '$x\r\n' : undefined));
  const link = linkForThisTest({ url: redis.url });
  const lost = link.send('k', ['GET', 'k']);
  await expect(lost).rejects.toThrow(LinkLostError);
  await expect(lost).rejects.toThrow('expected a reply of Redis, got a number that contains byte 120');
});

test('what is sent while Redis is away waits for it, in order', async () => {
  const redis = await forThisTest(startRedis());
  await redis.kill();
  const link = linkForThisTest({ url: redis.url });
  const whenDown = new Promise<Error>((resolve) => link.onDown(resolve));
  const pushed = ['a', 'b', 'c'].map((item) => link.send('l', ['RPUSH', 'l', item]));
  expect((await whenDown).message).toMatch(/^Cannot connect to Redis at 127.0.0.1:\d+: ECONNREFUSED$/);
  expect(link.isUp).toBe(false);

  await redis.restart();
  expect(await Promise.all(pushed)).toEqual([1, 2, 3]);
  expect(await link.send('l', ['LRANGE', 'l', '0', '-1'])).toEqual(['a', 'b', 'c']);
  expect(link.isUp).toBe(true);
});

test('a command that was cut off after it was written is in doubt, and not sent again', async () => {
  const redis = await forThisTest(startRedis());
  const proxy = await forThisTest(startCutProxy(redis.port));
  const link = linkForThisTest({ url: proxy.url });
  for (let round = 1; round <= 20; round += 1) {
    const cut = proxy.cutAfterWrite('INCR');
    await expect(link.send('n', ['INCR', 'n'])).rejects.toThrow(LinkLostError);
    await cut;
    expect(await link.send('n', ['GET', 'n'])).toBe(String(round));
  }
});

test('a script that was cut off is sent again', async () => {
  const redis = await forThisTest(startRedis());
  const proxy = await forThisTest(startCutProxy(redis.port));
  const link = linkForThisTest({ url: proxy.url });
  expect(await link.run(increment, ['n'], [])).toBe(1);

  const after = proxy.cutAfterWrite(increment.sha1);
  expect(await link.run(increment, ['n'], [])).toBe(3);
  await after;
  const before = proxy.cutBeforeWrite(increment.sha1);
  expect(await link.run(increment, ['n'], [])).toBe(4);
  await before;
});

test('a script that Redis has forgotten is sent by its text', async () => {
  const redis = await forThisTest(startRedis());
  const link = linkForThisTest({ url: redis.url });
  expect(await link.run(increment, ['n'], [])).toBe(1);
  await link.send('n', ['SCRIPT', 'FLUSH']);
  expect(await Promise.all([1, 2, 3].map(() => link.run(increment, ['n'], [])))).toEqual([2, 3, 4]);
});

test('a script that fails is not sent again', async () => {
  const redis = await forThisTest(startRedis());
  const link = linkForThisTest({ url: redis.url });
  const failing = {
    name: 'failing',
    source: "redis.call('INCR', KEYS[1]) error('no')",
    sha1: '0'.repeat(40),
  };
  await expect(link.run(failing, ['n'], [])).rejects.toThrow(ReplyError);
  expect(await link.send('n', ['GET', 'n'])).toBe('1');
});

test('through kill -9 and restart of Redis, scripts end and the link is up again', async () => {
  const redis = await forThisTest(startRedis({ aof: true, settings: ['appendfsync always'] }));
  const link = linkForThisTest({ url: redis.url });
  const events: string[] = [];
  link.onUp(() => events.push('up'));
  link.onDown(() => events.push('down'));
  let ended = 0;
  let isOver = false;
  const callers = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      await link.run(increment, ['n'], []);
      ended += 1;
    }
  });
  for (let round = 0; round < 5; round += 1) {
    const before = ended;
    await eventually('scripts to be carried out', () => ended > before + 50);
    await redis.kill();
    await redis.restart();
  }
  const before = ended;
  await eventually('scripts to be carried out', () => ended > before + 50);
  isOver = true;
  await Promise.all(callers);
  expect(Number(await link.send('n', ['GET', 'n']))).toBeGreaterThanOrEqual(ended);
  expect(events).toEqual(Array.from({ length: 11 }, (_, i) => (i % 2 === 0 ? 'up' : 'down')));
});

test('the signal ends a script that waits for Redis, and it is not sent later', async () => {
  const redis = await forThisTest(startRedis({ aof: true, settings: ['appendfsync always'] }));
  const link = linkForThisTest({ url: redis.url });
  await link.run(increment, ['n'], []);
  await redis.kill();
  const controller = new AbortController();
  const waiting = link.run(increment, ['n'], [], { signal: controller.signal });
  controller.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(link.run(increment, ['n'], [], { signal: controller.signal })).rejects.toThrow('enough');

  await redis.restart();
  // By the second reply it would have come, by its digest and then by its text.
  await link.send('n', ['PING']);
  expect(await link.send('n', ['GET', 'n'])).toBe('1');
});

test('a Redis that is loading its data is waited for', async () => {
  const redis = await forThisTest(
    startRedis({
      aof: true,
      settings: ['key-load-delay 5000', 'loading-process-events-interval-bytes 1024'],
    }),
  );
  const fill = "for i = 1, 2000 do redis.call('SET', 'k' .. i, string.rep('x', 100)) end return 'filled'";
  const link = linkForThisTest({ url: redis.url });
  expect(await link.send('k1', ['EVAL', fill, '0'])).toBe('filled');
  await link.send('k1', ['BGREWRITEAOF']);
  await eventually('the file to be rewritten', async () =>
    /aof_rewrite_in_progress:0\r?\naof_rewrite_scheduled:0/.test(
      String(await link.send('k1', ['INFO', 'persistence'])),
    ),
  );
  await redis.kill();
  const restarted = redis.restart();
  await eventually('it to be loading', async () =>
    (await redis.cli('PING').catch(String)).includes('LOADING'),
  );
  const late = linkForThisTest({ url: redis.url });
  const down: string[] = [];
  late.onDown(({ message }) => down.push(message));
  const lengths = [late, link].map((it) => it.send('k2000', ['STRLEN', 'k2000']));
  await eventually('the link to be told', () => down.length > 0);
  await redis.cli('CONFIG', 'SET', 'key-load-delay', 0);
  expect(await Promise.all(lengths)).toEqual([100, 100]);
  expect(down).toEqual([expect.stringContaining('LOADING')]);
  await restarted;
});

test.each(['LOADING', 'BUSY', 'TRYAGAIN'])('%s in answer to a command: it is sent again', async (code) => {
  let asked = 0;
  const redis = await startFakeRedis(([name]) => {
    if (name !== 'GET') return undefined;
    asked += 1;
    return asked < 3 ? `-${code} not now\r\n` : '$2\r\nok\r\n';
  });
  const link = linkForThisTest({ url: redis.url });
  expect(await link.send('k', ['GET', 'k'])).toBe('ok');
  expect(asked).toBe(3);
  expect(redis.connections).toBe(1);
});

test.each(['READONLY', 'CLUSTERDOWN', 'MASTERDOWN', 'UNBLOCKED'])(
  '%s: it is sent again over another connection',
  async (code) => {
    let asked = 0;
    const redis = await startFakeRedis(([name]) => {
      if (name !== 'GET') return undefined;
      asked += 1;
      return asked < 3 ? `-${code} not here\r\n` : '$2\r\nok\r\n';
    });
    const link = linkForThisTest({ url: redis.url });
    expect(await link.send('k', ['GET', 'k'])).toBe('ok');
    expect(asked).toBe(3);
    expect(redis.connections).toBe(3);
  },
);

test('destroy also ends what is under way on a connection that was left', async () => {
  const redis = await startFakeRedis(([name]) => (name === 'SET' ? '-READONLY not here\r\n' : undefined));
  const link = linkForThisTest({ url: redis.url });
  const calls = [
    link.send('k', ['SET', 'k', 'v']),
    link.send('s', ['XREAD', 'BLOCK', '0', 'STREAMS', 's', '$']),
  ];
  const ends = calls.map((call) => expect(call).rejects.toThrow(LinkClosedError));
  await eventually('the first connection to be left', () => redis.connections > 1);
  link.destroy();
  await Promise.all(ends);
});

test('a master that became a replica is left, and what it refused is carried out when it is master again', async () => {
  const redis = await forThisTest(startRedis());
  const other = await forThisTest(startRedis());
  const link = linkForThisTest({ url: redis.url });
  const reader = linkForThisTest({ url: redis.url });
  await link.send('s', ['XGROUP', 'CREATE', 's', 'g', '$', 'MKSTREAM']);
  const down: string[] = [];
  link.onDown(({ message }) => down.push(message));
  const read = reader.send('s', ['XREADGROUP', 'GROUP', 'g', 'c', 'BLOCK', '0', 'STREAMS', 's', '>']);
  await eventually('the read to block', async () =>
    (await redis.cli('INFO', 'clients')).includes('blocked_clients:1'),
  );

  // Its master cannot be reached, so that it keeps what it has.
  await other.kill();
  await redis.cli('REPLICAOF', '127.0.0.1', other.port);
  const added = link.send('s', ['XADD', 's', '1-1', 'f', 'v']);
  await eventually('the link to notice', () => down.length > 0);
  expect(down).toEqual([expect.stringContaining('READONLY')]);
  await redis.cli('REPLICAOF', 'NO', 'ONE');

  expect(await added).toBe('1-1');
  expect(await read).toEqual([['s', [['1-1', ['f', 'v']]]]]);
});

test('a Redis that is a replica from the start is not written to', async () => {
  const redis = await startFakeRedis(([name]) => (name === 'SET' ? '+OK\r\n' : undefined), 'replica');
  const link = linkForThisTest({ url: redis.url });
  link.send('k', ['SET', 'k', 'v']).catch(() => {});
  await eventually('several attempts', () => redis.connections > 2);
  expect(redis.chunks).toEqual([]);
});

test('a connection that is dead without a word is noticed', async () => {
  const redis = await forThisTest(startRedis());
  const clock = new VirtualClock();
  const link = linkForThisTest({ url: redis.url, clock });
  const reader = linkForThisTest({ url: redis.url, clock });
  await link.send('k', ['PING']);
  await reader.send('k', ['PING']);
  redis.pause();
  onTestFinished(() => redis.resume());

  const lost = expect(link.send('k', ['GET', 'k'])).rejects.toThrow(/lost: no reply within 5 s/);
  const readLost = expect(reader.send('s', ['XREAD', 'BLOCK', '60000', 'STREAMS', 's', '$'])).rejects.toThrow(
    /lost: no reply within 5 s/,
  );
  await clock.advance(4_999);
  expect([link.isUp, reader.isUp]).toEqual([true, true]);
  await clock.advance(501);
  await lost;
  await readLost;
});

test('a Redis that takes connections and says nothing is given up and tried again', async () => {
  const redis = await startFakeRedis(([name]) => (name === 'HELLO' ? '' : undefined));
  const clock = new VirtualClock();
  const link = linkForThisTest({ url: redis.url, clock });
  const down: string[] = [];
  link.onDown(({ message }) => down.push(message));
  await eventually('a connection', () => redis.connections === 1);
  await clock.advance(5_000);
  expect(down).toEqual([expect.stringContaining('no reply within 5 s')]);
  await clock.advance(50);
  await eventually('another connection', () => redis.connections === 2);
});

test('unblock ends a read that blocks as if its time had passed', async () => {
  const redis = await forThisTest(startRedis());
  const reader = linkForThisTest({ url: redis.url });
  await reader.unblock('s');
  for (let round = 0; round < 20; round += 1) {
    const read = reader.send('s', ['XREAD', 'BLOCK', '0', 'STREAMS', 's', '$']);
    // In every second round Redis has read the command by then; in the others it has not been written yet.
    if (round % 2 === 1) {
      await eventually('the read to block', async () =>
        (await redis.cli('INFO', 'clients')).includes('blocked_clients:1'),
      );
    }
    await reader.unblock('s');
    expect(await read).toBeNull();
  }
  await redis.cli('XADD', 's', '1-1', 'f', 'v');
  expect(await reader.send('s', ['XREAD', 'BLOCK', '0', 'STREAMS', 's', '0'])).toEqual([
    ['s', [['1-1', ['f', 'v']]]],
  ]);
});

// CLIENT UNBLOCK ended Redis itself, with a panic.
test('unblock does no harm while Redis has paused writes, as it does before a planned failover', async () => {
  const redis = await forThisTest(startRedis());
  const reader = linkForThisTest({ url: redis.url });
  await reader.send('s', ['XGROUP', 'CREATE', 's', 'g', '0', 'MKSTREAM']);
  await redis.cli('CLIENT', 'PAUSE', '600', 'WRITE');
  const read = reader.send('s', ['XREADGROUP', 'GROUP', 'g', 'me', 'BLOCK', '60000', 'STREAMS', 's', '>']);
  await reader.unblock('s');
  expect(await read).toBeNull();
  expect(await reader.send('s', ['XLEN', 's'])).toBe(0);
});

test('unblock ends a read that waits for Redis to come back', async () => {
  const redis = await forThisTest(startRedis());
  await redis.kill();
  const reader = linkForThisTest({ url: redis.url });
  const read = reader.send('s', ['XREAD', 'BLOCK', '0', 'STREAMS', 's', '$']);
  await reader.unblock('s');
  expect(await read).toBeNull();
});

test('close waits for what is under way and takes nothing more', async () => {
  const redis = await forThisTest(startRedis());
  const link = linkForThisTest({ url: redis.url });
  const reader = linkForThisTest({ url: redis.url });
  const last = link.send('n', ['INCR', 'n']);
  const closed = link.close();
  await expect(link.send('n', ['INCR', 'n'])).rejects.toThrow(LinkClosedError);
  expect(await last).toBe(1);
  await closed;
  await link.close();

  const read = reader.send('s', ['XREAD', 'BLOCK', '0', 'STREAMS', 's', '$']);
  const readerClosed = reader.close();
  await reader.unblock('s');
  expect(await read).toBeNull();
  await readerClosed;
  await eventually(
    'no connection to be left',
    async () => (await redis.cli('CLIENT', 'LIST')).split('\n').length === 1,
  );
});

test('destroy rejects what is under way, wherever it is', async () => {
  const redis = await forThisTest(startRedis());
  const busy = await startFakeRedis(([name]) => (name === 'GET' ? '-LOADING\r\n' : undefined));
  const blocked = linkForThisTest({ url: redis.url });
  const putOff = linkForThisTest({ url: busy.url, clock: new VirtualClock() });
  const offline = linkForThisTest({ url: 'redis://127.0.0.1:1' });
  const calls = [
    blocked.send('s', ['XREAD', 'BLOCK', '0', 'STREAMS', 's', '$']),
    putOff.send('k', ['GET', 'k']),
    offline.run(increment, ['n'], []),
  ].map((call) => expect(call).rejects.toThrow(LinkClosedError));
  await eventually('the command to be put off', () => busy.chunks.length > 0);
  for (const link of [blocked, putOff, offline]) {
    link.destroy();
    link.destroy();
  }
  await Promise.all(calls);
  await expect(blocked.send('k', ['PING'])).rejects.toThrow(LinkClosedError);
  await blocked.unblock('s');
  await blocked.close();
});

// At each stage: before its socket is connected, and at each turn of the handshake. A socket that was destroyed before it was
// connected was once opened all the same, and left open.
test('a link that is destroyed while it connects leaves no connection behind', async () => {
  const redis = await forThisTest(startRedis());
  for (let i = 0; i < 30; i += 1) {
    const link = linkForThisTest({ url: redis.url });
    for (let turn = 0; turn < i; turn += 1) await new Promise(setImmediate);
    link.destroy();
  }
  // Redis takes connections in their order: when this one is answered, the others have been there.
  const last = linkForThisTest({ url: redis.url });
  await last.send('k', ['PING']);
  const opened = Number(/total_connections_received:(\d+)/.exec(await redis.cli('INFO', 'stats'))?.[1]);
  expect(opened).toBeGreaterThan(5);
  await eventually('no connection to be left but two', async () =>
    /connected_clients:2\s/.test(await redis.cli('INFO', 'clients')),
  );
});
