/** A Redis that cannot be reached, or may delete what it has accepted, is reported: in errors, on stderr, to listeners. */
import { fileURLToPath } from 'node:url';
import { RedisBatcher, type RedisBatcherOptions, RedisProcessor } from '@batchwise/redis';
import { VirtualClock } from 'batchwise';
import { beforeEach, expect, type MockInstance, onTestFinished, test, vi } from 'vitest';
import { startChild } from '../support/child.js';
import { startCutProxy } from '../support/cut-proxy.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { freePort } from '../support/free-port.js';
import { startRedis } from '../support/redis-server.js';

let stderr: MockInstance<typeof process.stderr.write>;
beforeEach(() => {
  stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  return () => stderr.mockRestore();
});
const reported = () =>
  stderr.mock.calls.map(([line]) => String(line)).filter((line) => line.startsWith('batchwise: '));

function clientOf(options: RedisBatcherOptions<number>): RedisBatcher<number, number> {
  const client = new RedisBatcher<number, number>({ queue: 'double', ...options });
  onTestFinished(() => client.destroy());
  return client;
}

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: Error) => error,
  );

test('a program that waits without a deadline says on stderr what it waits for, once, and when it goes on', async () => {
  const port = await freePort();
  const program = await forThisTest(
    startChild(fileURLToPath(new URL('./fixtures/double.mjs', import.meta.url)), {
      env: { REDIS__HOST: '127.0.0.1', REDIS__PORT: String(port) },
    }),
  );
  const place = `Redis at 127.0.0.1:${port}`;
  const lost = `batchwise: Cannot connect to ${place}: ECONN. Retrying until it succeeds.\n`;
  const back = `batchwise: Connected to ${place} again.\n`;
  // A Redis that is being killed may reset a connection before it refuses the next.
  const isReported = (text: string) => program.output.replace(/ECONN(?:REFUSED|RESET)/g, 'ECONN') === text;
  await eventually('the report', () => isReported(lost));
  expect(program.output).toContain('ECONNREFUSED');
  const redis = await forThisTest(startRedis({ port }));
  expect(await program.until(() => true)).toEqual({ result: 42 });
  await eventually('the report that it is back', () => isReported(lost + back));
  // A second outage is reported again.
  await redis.kill();
  await eventually('the second report', () => isReported(lost + back + lost));
  await redis.restart();
  await eventually('the report that it is back', () => isReported(lost + back + lost + back));
  program.send('close');
  expect(await program.exited).toMatchObject({ code: 0 });
});

test('a call that was not sent before its deadline says why, and may be retried', async () => {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const why = `Cannot connect to Redis at 127.0.0.1:${port}: ECONNREFUSED`;
  const client = clientOf({ url });
  await eventually('the first attempt', () => client.problem !== undefined);
  const sunk: Error[] = [];
  client.enqueue(1, { resolve() {}, reject: (error) => sunk.push(error) }, { timeoutMs: 20 });
  const errors = [
    await failureOf(client.submit(1, { timeoutMs: 20 })),
    await failureOf(client.submitMany([1, 2], { timeoutMs: 20 })),
    await failureOf(clientOf({ url, timeoutMs: 50 }).submit(1)),
    ...sunk,
  ];
  expect(errors).toHaveLength(4);
  for (const error of errors) {
    expect(error).toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining(`double: ${why}. `),
    });
    expect(error?.cause).toMatchObject({ message: why, cause: { code: 'ECONNREFUSED' } });
  }
  expect(reported()).toEqual([`batchwise: ${why}. Retrying until it succeeds.\n`]);
});

test('a call that was in the queue when Redis went away says so when its deadline has passed', async () => {
  const redis = await forThisTest(startRedis());
  const client = clientOf({ url: redis.url });
  const late = failureOf(client.submit(1, { timeoutMs: 3_000 }));
  await eventually('it to be queued', async () => (await redis.cli('XLEN', client.keys.requests[1])) === '1');
  await redis.kill();
  expect(await late).toMatchObject({
    code: 'DEADLINE_EXCEEDED',
    message: `double: the deadline of the call has passed. Cannot connect to Redis at 127.0.0.1:${redis.port}: ECONNREFUSED.`,
  });
});

test('with a listener the program reports by itself: stderr is left alone', async () => {
  const client = clientOf({ url: `redis://127.0.0.1:${await freePort()}` });
  const reason = await new Promise<Error | undefined>((resolve) => {
    client.onConnectionChange((_, why) => resolve(why));
  });
  expect(reason?.message).toMatch(/^Cannot connect to Redis.*: ECONNREFUSED$/);
  const processor = new RedisProcessor((items: number[]) => items, {
    url: `redis://127.0.0.1:${await freePort()}`,
    queue: 'q',
  });
  onTestFinished(() => processor.destroy());
  const notice = await new Promise((resolve) => processor.onNotice(resolve));
  expect(notice).toMatchObject({ event: 'disconnected' });
  expect(reported()).toEqual([]);
});

test('a wrong password, TLS on one side only, an unknown name and absent sentinels are told apart', async () => {
  const locked = await forThisTest(startRedis({ settings: ['requirepass secret'] }));
  const encrypted = await forThisTest(startRedis({ tls: true }));
  const port = await freePort();
  const cases: readonly [RedisBatcherOptions<number>, RegExp][] = [
    [{ url: locked.url }, /Redis at .* refused the connection \(.*\): NOAUTH/],
    [{ url: locked.url, password: 'wrong' }, /Redis at .* refused the connection \(.*\): WRONGPASS/],
    [
      { url: locked.url.replace('redis:', 'rediss:'), replyTimeoutMs: 300 },
      /Cannot connect to Redis at .*: .*TLS/,
    ],
    [{ url: encrypted.url }, /Redis at .* refused the connection \(.*\): .*certificate/],
    [{ url: encrypted.url.replace('rediss:', 'redis:') }, /Cannot connect to Redis at .*: .*TLS/],
    [{ url: 'redis://a..b' }, /Cannot connect to Redis at a\.\.b:6379: E\w+ \(unknown host name\)/],
    [
      { url: `redis+sentinel://127.0.0.1:${port}/mymaster` },
      /Cannot connect to Redis: 127\.0\.0\.1:\d+: ECONNREFUSED/,
    ],
    [{ url: `redis+cluster://127.0.0.1:${port}` }, /Cannot connect to Redis: 127\.0\.0\.1:\d+: ECONNREFUSED/],
  ];
  for (const [options, message] of cases) {
    const client = clientOf(options);
    await eventually('the first attempt', () => client.problem !== undefined);
    expect(await failureOf(client.submit(1, { timeoutMs: 100 }))).toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(message),
    });
    expect(reported().at(-1)).toMatch(/^batchwise: (?:Cannot connect to )?Redis.*\n$/);
    client.destroy();
  }
});

// It was noticed after 15 s at the earliest, whatever was set.
test('a connection that is dead without a word is replaced after replyTimeoutMs', async () => {
  const redis = await forThisTest(startRedis());
  const proxy = await forThisTest(startCutProxy(redis.port));
  const clock = new VirtualClock();
  const client = clientOf({ url: proxy.url, replyTimeoutMs: 400, clock });
  await eventually('it to be connected', () => client.isUp);
  const lost: string[] = [];
  client.onConnectionChange((isUp, reason) => isUp || lost.push(String(reason?.message)));
  redis.pause();
  onTestFinished(() => redis.resume());
  void client.submit(1).catch(() => {});
  await eventually('it to be noticed', async () => {
    await clock.advance(50);
    return lost.length > 0;
  });
  expect(lost[0]).toBe('no reply within 0.4 s');
});

test('a maxmemory-policy that evicts is reported after a reconnect, to stderr or to the listeners', async () => {
  const redis = await forThisTest(startRedis());
  const client = clientOf({ url: redis.url });
  await client.ready;
  const processor = new RedisProcessor((items: number[]) => items, { url: redis.url, queue: 'double' });
  onTestFinished(() => processor.destroy());
  const notices: string[] = [];
  processor.onNotice(({ event }) => notices.push(event));
  await processor.ready;
  await redis.cli('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
  await redis.cli('CLIENT', 'KILL', 'TYPE', 'normal');
  await eventually(
    'it to be noticed',
    () => client.problem?.message.includes('allkeys-lru') && notices.includes('evicting'),
  );
  await redis.cli('CLIENT', 'KILL', 'TYPE', 'normal');
  await eventually('it to be connected again', () => client.isUp);
  expect(await client.submit(1)).toBe(1);
  expect(reported()).toEqual([
    expect.stringMatching(/^batchwise: Redis: expected maxmemory-policy noeviction, got allkeys-lru/),
  ]);
  await redis.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  await redis.cli('CLIENT', 'KILL', 'TYPE', 'normal');
  await eventually('it to be right again', () => client.isUp && client.problem === undefined);
});

test('the maxmemory-policy is looked at every minute', async () => {
  const redis = await forThisTest(startRedis());
  const clock = new VirtualClock();
  const client = clientOf({ url: redis.url, clock });
  await client.ready;
  await redis.cli('CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru');
  const told = new Promise((resolve) => {
    client.onConnectionChange((isUp, reason) => resolve([isUp, reason?.message]));
  });
  await clock.advance(60_000);
  expect(await told).toEqual([true, expect.stringContaining('got volatile-lru')]);
});
