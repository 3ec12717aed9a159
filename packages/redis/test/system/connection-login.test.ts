/** Who is let in, to which Redis, and what is said to those who are not. */
import { Socket } from 'node:net';
import { inspect } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { checkRedis } from '../../src/connection/check-redis.js';
import { linkForThisTest } from '../connection/link-for-this-test.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { startRedis } from '../support/redis-server.js';

test('a password', async () => {
  const redis = await forThisTest(startRedis({ settings: ['requirepass secret'] }));
  const address = `127.0.0.1:${redis.port}`;
  expect(await linkForThisTest({ url: `redis://:secret@${address}` }).send('k', ['PING'])).toBe('PONG');
  expect(await linkForThisTest({ url: redis.url, password: 'secret' }).send('k', ['PING'])).toBe('PONG');

  const wrong = linkForThisTest({ url: `redis://:hunter2@${address}` }).send('k', ['PING']);
  await expect(wrong).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(wrong).rejects.toThrow(`Redis at ${address} refused the connection`);
  await expect(wrong).rejects.toThrow('WRONGPASS');
  await expect(wrong).rejects.not.toThrow('hunter2');
  await expect(linkForThisTest({ url: redis.url }).send('k', ['PING'])).rejects.toThrow('NOAUTH');
});

// Redis repeats the arguments of a command that it does not know, and the message is logged.
test('a password is not repeated by the error of one who knows no AUTH', async () => {
  const redis = await forThisTest(startRedis({ settings: ['requirepass secret', 'rename-command AUTH ""'] }));
  const refused = linkForThisTest({ url: redis.url, username: 'alice', password: 'hunter2' }).send('k', [
    'PING',
  ]);
  await expect(refused).rejects.toThrow(/unknown command .AUTH./);
  const error = (await refused.catch((reason: unknown) => reason)) as Error;
  expect(inspect(error, { depth: 10 })).not.toMatch(/hunter2|alice/);
});

test('a password that is changed while the link is in use: what is sent waits until it is right again', async () => {
  const redis = await forThisTest(startRedis({ settings: ['user alice on >one ~* +@all'] }));
  const link = linkForThisTest({ url: redis.url, username: 'alice', password: 'one' });
  await link.send('k', ['SET', 'k', 'v']);
  const whenDown = new Promise((resolve) => link.onDown(resolve));
  await redis.cli('ACL', 'SETUSER', 'alice', 'resetpass', '>two');
  await redis.cli('CLIENT', 'KILL', 'USER', 'alice');
  await whenDown;
  const waiting = link.send('k', ['GET', 'k']);
  await eventually('the link to be refused', async () =>
    (await redis.cli('INFO', 'errorstats')).includes('errorstat_WRONGPASS'),
  );
  await redis.cli('ACL', 'SETUSER', 'alice', 'resetpass', '>one');
  expect(await waiting).toBe('v');
});

test('a user of the access list, with no more permissions than the queue wants', async () => {
  const redis = await forThisTest(
    startRedis({
      settings: ['user alice on >pass ~batchwise:* +@stream +@hash +@scripting', 'user default off'],
    }),
  );
  const link = linkForThisTest({ url: redis.url, username: 'alice', password: 'pass' });
  expect(await link.send('batchwise:s', ['XADD', 'batchwise:s', '1-1', 'f', 'v'])).toBe('1-1');
  await expect(link.send('other', ['XADD', 'other', '*', 'f', 'v'])).rejects.toMatchObject({
    code: 'NOPERM',
  });
  await expect(checkRedis(link, 'batchwise:s')).rejects.toThrow(/NOPERM.*ACL SETUSER <user> \+info/);
});

test('a database of its own', async () => {
  const redis = await forThisTest(startRedis({ settings: ['databases 4'] }));
  await linkForThisTest({ url: `${redis.url}/3` }).send('k', ['SET', 'k', 'three']);
  await linkForThisTest({ url: redis.url, database: 2 }).send('k', ['SET', 'k', 'two']);
  expect(await redis.cli('-n', 3, 'GET', 'k')).toBe('three');
  expect(await redis.cli('-n', 2, 'GET', 'k')).toBe('two');
});

// node-redis writes what waits together with SELECT: where that is refused, it was carried out in database 0.
test('nothing is carried out in another database when there is none of that number', async () => {
  const redis = await forThisTest(startRedis({ settings: ['databases 4'] }));
  const link = linkForThisTest({ url: `${redis.url}/4` });
  await expect(link.send('k', ['SET', 'k', 'v'])).rejects.toThrow('DB index is out of range');
  expect(await redis.cli('EXISTS', 'k')).toBe('0');
});

test('TLS, with an authority of its own', async () => {
  const redis = await forThisTest(startRedis({ tls: true }));
  const ca = redis.certificates?.ca ?? '';
  expect(await linkForThisTest({ url: redis.url, tls: { ca } }).send('k', ['PING'])).toBe('PONG');
  const byName = redis.url.replace('127.0.0.1', 'localhost');
  expect(await linkForThisTest({ url: byName, tls: { ca } }).send('k', ['PING'])).toBe('PONG');

  await expect(linkForThisTest({ url: redis.url }).send('k', ['PING'])).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringMatching(/certificate/),
  });
  const otherName = linkForThisTest({ url: redis.url, tls: { ca, servername: 'redis.example' } });
  await expect(otherName.send('k', ['PING'])).rejects.toThrow(/redis\.example/);
  const trusting = linkForThisTest({ url: redis.url, tls: { rejectUnauthorized: false } });
  expect(await trusting.send('k', ['PING'])).toBe('PONG');
});

// Of what `net.connect` knows, `tls.connect` passes over this without a word: small commands waited for the
// acknowledgement of those before them, and a peer that went away was never noticed.
test('TLS or not, commands are not held back, and a peer that goes away is noticed', async () => {
  const setNoDelay = vi.spyOn(Socket.prototype, 'setNoDelay');
  const setKeepAlive = vi.spyOn(Socket.prototype, 'setKeepAlive');
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  const redis = await forThisTest(startRedis({ tls: true }));
  const ca = redis.certificates?.ca ?? '';
  setNoDelay.mockClear();
  setKeepAlive.mockClear();
  expect(await linkForThisTest({ url: redis.url, tls: { ca } }).send('k', ['PING'])).toBe('PONG');
  expect(setNoDelay).toHaveBeenCalledWith(true);
  expect(setKeepAlive).toHaveBeenCalledWith(true, 10_000);
});

test('TLS in which the client shows a certificate too', async () => {
  const redis = await forThisTest(startRedis({ tls: 'mutual' }));
  const { ca = '', client } = redis.certificates ?? {};
  expect(await linkForThisTest({ url: redis.url, tls: { ca, ...client } }).send('k', ['PING'])).toBe('PONG');
  await expect(linkForThisTest({ url: redis.url, tls: { ca } }).send('k', ['PING'])).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
});

test('a Redis that evicts is refused, and taken when it is set right', async () => {
  const redis = await forThisTest(
    startRedis({ settings: ['maxmemory 100mb', 'maxmemory-policy allkeys-lru'] }),
  );
  const link = linkForThisTest({ url: redis.url, replies: 'bytes' });
  await expect(checkRedis(link, 'k')).rejects.toThrow(
    /got allkeys-lru.*CONFIG SET maxmemory-policy noeviction/,
  );
  await redis.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  await expect(checkRedis(link, 'k')).resolves.toBeUndefined();
});

test('the connections can be told by their name', async () => {
  const redis = await forThisTest(startRedis());
  const link = linkForThisTest({ url: redis.url, name: 'batchwise client 1' });
  expect(await link.send('k', ['CLIENT', 'GETNAME'])).toBe('batchwise-client-1');
});
