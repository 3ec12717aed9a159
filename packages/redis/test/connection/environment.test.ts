import { expect, test } from 'vitest';
import { connectionFrom } from '../../src/connection/environment.js';

test('nothing set is Redis on this machine', () => {
  expect(connectionFrom({}, {})).toMatchObject({ url: 'redis://localhost:6379', database: undefined });
  expect(connectionFrom({}, { REDIS__HOST: '', REDIS__PORT: '', REDIS__DB: '' })).toMatchObject({
    url: 'redis://localhost:6379',
  });
});

test('host, port, database and password come from the environment', () => {
  const environment = {
    REDIS__HOST: 'r',
    REDIS__PORT: '7',
    REDIS__DB: '2',
    REDIS__PASSWORD: 'p',
    REDIS__USERNAME: 'u',
    REDIS__REPLY_TIMEOUT_MS: '800',
  };
  expect(connectionFrom({}, environment)).toEqual({
    url: 'redis://r:7',
    database: 2,
    username: 'u',
    password: 'p',
    tls: undefined,
    replyTimeoutMs: 800,
  });
  expect(connectionFrom({ replyTimeoutMs: 700 }, environment).replyTimeoutMs).toBe(700);
  expect(connectionFrom({ tls: { ca: 'x' } }, { REDIS__HOST: '::1' })).toMatchObject({
    url: 'rediss://[::1]:6379',
  });
});

test('REDIS__URL goes before host, port and database', () => {
  const environment = { REDIS__URL: 'redis://a/1', REDIS__HOST: 'b', REDIS__PORT: 'x', REDIS__DB: '9' };
  expect(connectionFrom({}, environment)).toMatchObject({ url: 'redis://a/1', database: undefined });
});

test('an argument goes before the environment', () => {
  const environment = {
    REDIS__URL: 'redis://env/1',
    REDIS__DB: '2',
    REDIS__PASSWORD: 'p',
    REDIS__USERNAME: 'u',
  };
  expect(connectionFrom({ url: 'redis://arg', database: 3 }, environment)).toMatchObject({
    url: 'redis://arg',
    database: 3,
    password: 'p',
  });
  expect(connectionFrom({ password: 'q' }, environment)).toMatchObject({
    url: 'redis://env/1',
    password: 'q',
  });
  expect(connectionFrom({ url: 'redis://v:q@arg' }, environment)).toMatchObject({
    username: 'v',
    password: 'q',
  });
});

test.each([
  [{ REDIS__PORT: 'abc' }, /^REDIS__PORT: expected a whole number from 1 to 65535, got "abc"\.$/],
  [{ REDIS__PORT: '0' }, /^REDIS__PORT: expected .*, got "0"/],
  [{ REDIS__PORT: '70000' }, /^REDIS__PORT: expected .*, got "70000"/],
  [{ REDIS__REPLY_TIMEOUT_MS: '5s' }, /^REDIS__REPLY_TIMEOUT_MS: expected a whole number from 100 /],
  [{ REDIS__DB: '-1' }, /^REDIS__DB: expected a whole number from 0 .*, got "-1"/],
  [{ REDIS__DB: '1.5' }, /^REDIS__DB: expected/],
  [{ REDIS__HOST: 'redis://h' }, /^REDIS__HOST: expected the name or address of a host.*, got "redis:\/\/h"/],
  [{ REDIS__URL: 'http://h' }, /^REDIS__URL, url: expected redis:\/\//],
])('%j is refused by the name of the variable', (environment, message) => {
  expect(() => connectionFrom({}, environment)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  expect(() => connectionFrom({}, environment)).toThrow(message);
});
