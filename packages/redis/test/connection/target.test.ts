import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ConnectionOptions } from '../../src/connection/connection-options.js';
import { targetOf } from '../../src/connection/target.js';

test('nothing said is Redis on this machine', () => {
  expect(targetOf({})).toEqual({
    kind: 'single',
    address: { host: 'localhost', port: 6379 },
    login: {},
    database: 0,
    tls: undefined,
    replyTimeoutMs: 5_000,
  });
});

test('a URL says host, port, login and database', () => {
  expect(targetOf({ url: 'redis://alice:s%40%2F%3A@redis.local:7000/3' })).toMatchObject({
    kind: 'single',
    address: { host: 'redis.local', port: 7000 },
    login: { username: 'alice', password: 's@/:' },
    database: 3,
  });
  expect(targetOf({ url: 'redis://:secret@[::1]' })).toMatchObject({
    address: { host: '::1', port: 6379 },
    login: { username: undefined, password: 'secret' },
  });
  expect(targetOf({ url: 'rediss://h/' })).toMatchObject({ database: 0, tls: {} });
});

test('an option goes before what the URL says', () => {
  const options = { url: 'redis://a:b@h/1', username: 'c', password: 'd', database: 2 };
  expect(targetOf(options)).toMatchObject({ login: { username: 'c', password: 'd' }, database: 2 });
});

test('a cluster is several nodes', () => {
  expect(targetOf({ url: 'rediss+cluster://:p@a:1,b,[::2]:3', tls: { servername: 'x' } })).toMatchObject({
    kind: 'cluster',
    seeds: [
      { host: 'a', port: 1 },
      { host: 'b', port: 6379 },
      { host: '::2', port: 3 },
    ],
    login: { password: 'p' },
    tls: { servername: 'x' },
  });
});

test('sentinels have a master, and may have a login of their own', () => {
  const url = 'redis+sentinel://u:p@a,b:2/my%20master/4?sentinelUsername=su&sentinelPassword=s%26p';
  expect(targetOf({ url })).toMatchObject({
    kind: 'sentinel',
    sentinels: [
      { host: 'a', port: 26379 },
      { host: 'b', port: 2 },
    ],
    master: 'my master',
    database: 4,
    login: { username: 'u', password: 'p' },
    sentinelLogin: { username: 'su', password: 's&p' },
  });
});

test.each<[ConnectionOptions, RegExp]>([
  [{ url: 'http://h' }, /url: expected redis:\/\/.*got the scheme "http"/],
  [{ url: 'localhost:6379' }, /url: expected redis:\/\/.*got a URL without a scheme/],
  [{ url: 'redis+ring://h' }, /got the scheme "redis\+ring"/],
  [{ url: '' }, /url: expected a string that is not empty, got an empty one/],
  [{ url: 7 as unknown as string }, /url: expected a string that is not empty, got number/],
  [{ url: 'redis://h:abc' }, /port from 1 to 65535, got "h:abc"/],
  [{ url: 'redis://h:65536' }, /port from 1 to 65535, got "h:65536"/],
  [{ url: 'redis://' }, /expected host\[:port\].*got ""/],
  [{ url: 'redis://a,b' }, /expected one host/],
  [{ url: 'redis://h/x' }, /expected a database number .*got "x"/],
  [{ url: 'redis://h/1/2' }, /expected a database number .*got "1\/2"/],
  [{ url: 'redis://h?db=1' }, /expected no query/],
  [{ url: 'redis://u:%zz@h' }, /expected the password percent-encoded/],
  [{ database: -1 }, /database: expected a whole number from 0 up, got -1/],
  [{ database: 1.5 }, /database: expected a whole number from 0 up, got 1.5/],
  [{ url: 'redis+cluster://h', database: 1 }, /database: expected 0.*Cluster.*got 1/],
  [{ url: 'redis+cluster://h/1' }, /database: expected 0.*got 1/],
  [{ url: 'redis+sentinel://h' }, /expected the name of the master/],
  [
    { url: 'redis+sentinel://h/m?password=x' },
    /expected sentinelUsername or sentinelPassword.*got "password"/,
  ],
  [{ url: 'redis+sentinel://h/m/x' }, /expected a database number .*got "x"/],
  [{ tls: {} }, /tls: expected a url that begins with rediss:\/\/, got redis:\/\//],
  [{ url: 'redis+cluster://h', tls: {} }, /expected a url that begins with rediss\+cluster:\/\//],
  [{ url: 'rediss://h', tls: { pfx: 'x' } as object }, /tls: unknown option "pfx"\. Known are ca, cert/],
  [{ url: 'rediss://h', tls: true as unknown as object }, /tls: expected an object, got boolean/],
  [{ password: '' }, /password: expected a string that is not empty/],
])('%j is refused with what was expected', (options, message) => {
  expect(() => targetOf(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  expect(() => targetOf(options)).toThrow(message);
});

test('no error message shows a password, however the URL is broken', () => {
  const password = fc.constantFrom(
    'hunter2',
    'hun/ter2',
    'hun@ter2',
    'hunter2?',
    'hun:ter2',
    'hunter2#',
    'hun%ter2',
  );
  const end = fc.constantFrom('', '/x', ':x', ',h2', '?a=b', '/1/2', '@', ':99999');
  const scheme = fc.constantFrom('redis', 'rediss', 'redis+cluster', 'redis+sentinel', 'http');
  fc.assert(
    fc.property(scheme, password, end, (kind, secret, tail) => {
      try {
        targetOf({ url: `${kind}://alice:${secret}@host${tail}` });
      } catch (error) {
        expect((error as Error).message).not.toMatch(/hun|ter2/);
      }
    }),
  );
});
