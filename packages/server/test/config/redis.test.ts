/** Runners that are placed in Redis by a setting. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configText } from '../../src/config/config-report.js';
import { redisUrl } from '../../src/config/kinds/redis-kinds.js';
import { changeText, diffReloadable } from '../../src/config/reloadable.js';
import { resolveRunner } from '../../src/config/resolve-runner.js';
import { planRunners } from '../../src/planned-runner.js';
import { defineService } from '../../src/service/define-service.js';
import { fn } from '../../src/service/fn.js';
import { ConfigFolder } from './support/config-folder.js';

let folder: ConfigFolder;
beforeAll(() => {
  folder = new ConfigFolder();
});
afterAll(() => folder.remove());

const NONE = { queue: undefined, url: undefined, maxBacklog: 10_000, payload: undefined };

function redisOf(text: string, env: Record<string, string> = {}) {
  const { settings } = folder.load(text, { env, runnerNames: ['digits'] });
  return resolveRunner(settings, 'digits', { isBatchable: true }).redis;
}

test('a runner is not in Redis unless it is said', () => {
  expect(redisOf('')).toEqual(NONE);
});

test('the file places a runner in Redis', () => {
  const text = `
runners:
  digits:
    redis:
      queue: digits
      url: redis://localhost:6379
      max_backlog: 500
      payload: msgpack
`;
  expect(redisOf(text)).toEqual({
    queue: 'digits',
    url: 'redis://localhost:6379',
    maxBacklog: 500,
    payload: 'msgpack',
  });
});

test('what is for one goes over what is for all, key by key, and the environment over both', () => {
  const text =
    'runners: {redis: {url: redis://cache, max_backlog: 7}, digits: {redis: {queue: a, max_backlog: unlimited}}}';
  const env = { BATCHWISE__RUNNERS__DIGITS__REDIS__QUEUE: 'b' };
  expect(redisOf(text, env)).toEqual({
    ...NONE,
    queue: 'b',
    url: 'redis://cache',
    maxBacklog: Number.POSITIVE_INFINITY,
  });
});

test('null takes a runner out of Redis again', () => {
  const env = { BATCHWISE__RUNNERS__DIGITS__REDIS__QUEUE: 'null' };
  expect(redisOf('runners: {digits: {redis: {queue: digits}}}', env).queue).toBeUndefined();
});

const FORMS =
  'a URL such as redis://host:6379, rediss://, redis+cluster:// or redis+sentinel://, or null for none';

test.each<[string, string]>([
  [
    'runners:\n  digits:\n    redis:\n      queue: a\n      queu: b',
    '5:7: runners.digits.redis.queu: unknown key. Did you mean queue?',
  ],
  [
    'runners:\n  digits:\n    redis:\n      host: b',
    '4:7: runners.digits.redis.host: unknown key. There are queue, url, max_backlog, payload.',
  ],
  [
    'runners: {digits: {redis: digits}}',
    '1:27: runners.digits.redis: expected a map with queue, url, max_backlog, payload, got the string "digits".',
  ],
  [
    'runners: {digits: {redis: {queue: a b}}}',
    '1:35: runners.digits.redis.queue: expected a name of 1 to 200 characters without spaces and braces, or null for none, got the string "a b".',
  ],
  [
    'runners: {digits: {redis: {max_backlog: 0}}}',
    '1:41: runners.digits.redis.max_backlog: expected a whole number from 1 to 100,000,000, or unlimited, got 0.',
  ],
  [
    'runners: {digits: {redis: {payload: bytes}}}',
    '1:37: runners.digits.redis.payload: expected json or msgpack, or null for none, got the string "bytes".',
  ],
  [
    'runners: {digits: {redis: {url: "http://me:secret@host"}}}',
    `1:33: runners.digits.redis.url: expected ${FORMS}, got a URL that begins with the string "http://".`,
  ],
  [
    'runners: {digits: {redis: {url: "me:secret@host:1"}}}',
    `1:33: runners.digits.redis.url: expected ${FORMS}, got another value.`,
  ],
])('%j is refused with its place', (text, complaint) => {
  expect(folder.complaints(text)).toEqual([`batchwise.yaml:${complaint}`]);
});

describe('a password', () => {
  const url = 'rediss+sentinel://me:s3cret%40@a:1,b:2/main/0?sentinelUsername=x&sentinelPassword=s3cret';

  test.each<[string, string]>([
    ['redis://host:6379/1', 'redis://host:6379/1'],
    ['redis://me@host', 'redis://me@host'],
    ['redis://:s3cret@host', 'redis://:***@host'],
    ['redis+cluster://me:s3cret@a:1,b:2', 'redis+cluster://me:***@a:1,b:2'],
    [url, 'rediss+sentinel://me:***@a:1,b:2/main/0?sentinelUsername=x&sentinelPassword=***'],
  ])('in %s is not written', (given, written) => {
    expect(redisUrl.parse(given, { folder: '' })).toEqual({ value: given });
    expect(redisUrl.write(given)).toBe(written);
  });

  test('is in no report and in no line about a change, and everything else is, with its origin', () => {
    const before = folder.load('');
    const after = folder.load(`runners:\n  digits:\n    redis:\n      queue: digits\n      url: ${url}\n`);
    const report = configText(after);
    expect(report).not.toContain('s3cret');
    expect(report).toMatch(/\n {6}queue: digits +# batchwise\.yaml:4:7\n {6}url: .*# batchwise\.yaml:5:7\n/);
    const { live, restart } = diffReloadable(before.settings, after.settings);
    expect(live).toEqual([]);
    const lines = restart.map(changeText);
    expect(lines).toContain('runners.digits.redis.queue: null → digits');
    expect(lines.join()).not.toContain('s3cret');
  });
});

describe('what is planned', () => {
  const service = defineService({
    runners: {
      a: fn((items: number[]) => items, { redis: { queue: 'code', maxBacklog: 5 } }),
      b: fn((items: number[]) => items),
    },
    routes: () => [],
  });
  const planned = (text: string) => planRunners(folder.load(text).settings, service);

  test('is placed by the code of a service too, and the file goes over it', () => {
    expect(planned('')[0]?.settings.redis).toEqual({ ...NONE, queue: 'code', maxBacklog: 5 });
    expect(planned('runners: {a: {redis: {queue: file}}}')[0]?.settings.redis).toEqual({
      ...NONE,
      queue: 'file',
      maxBacklog: 5,
    });
  });

  test('a wrong word in the code is refused', () => {
    const declare = () => fn((items: number[]) => items, { redis: { que: 'x' } as never });
    expect(declare).toThrow(/redis: unknown key "que"/);
  });

  test('two runners with one queue are refused, and with two places for it are not', () => {
    expect(() => planned('runners: {b: {redis: {queue: code}}}')).toThrow(
      'The runners a and b have the same queue in Redis, code. Set another queue: runners.b.redis.queue.',
    );
    expect(planned('runners: {b: {redis: {queue: code, url: "redis://elsewhere"}}}')).toHaveLength(2);
  });

  test('a model whose requests are to travel as JSON is refused', () => {
    const text = 'models: [digits.onnx]\nrunners: {digits: {redis: {queue: digits, payload: json}}}';
    expect(() => planned(text)).toThrow(/^runners\.digits\.redis\.payload: expected msgpack, or no payload/);
  });
});
