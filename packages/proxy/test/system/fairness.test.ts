/**
 * One hostile connection next to honest clients, which keep at least half of the batches. The test releases each batch of the
 * backend, so batches are counted, not time.
 */
import { VirtualClock } from 'batchwise';
import { expect, it } from 'vitest';
import { eventually } from '../../../redis/test/support/eventually.js';
import { gatedBackend } from '../support/gated-backend.js';
import { expectFair, HOSTILE_KINDS, honestShare } from '../support/hostile-connections.js';
import { proxied } from '../support/proxied.js';
import { answerOf, rawClient } from '../support/raw-client.js';

const RESOURCE_EXHAUSTED = 8;
const UNAVAILABLE = 14;

it.each(HOSTILE_KINDS)('honest clients keep their share next to %s', async (...kind) => {
  expectFair(await honestShare([kind], 20));
});

it('honest clients keep their share next to all kinds of hostile connections at once', async () => {
  const { failed, answered } = await honestShare(HOSTILE_KINDS.slice(8), 10);
  expect(failed).toEqual([]);
  expect(answered).toBeGreaterThan(0);
});

// Root cause: 150 idle streams used up the stream limit of the only connection to the backend, and neither a batch nor a
// health check could be sent.
it('idle streams of one connection do not block batches, health checks and streams of others', async () => {
  const backend = await gatedBackend(20);
  const { port, proxy } = await proxied(backend, { healthCheck: { intervalMs: 20 } });
  const hostile = rawClient(port);
  const refused = Array.from({ length: 150 }, () => answerOf(hostile.open({}, '/test.Echo/Silent').end()));
  // 20 streams on each of four connections: one client gets half of them.
  const answers = await Promise.all(refused.slice(40));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => RESOURCE_EXHAUSTED));
  await eventually('its streams to be open', () => backend.silent === 40);
  const seen = backend.healthChecks;
  await eventually('health checks', () => backend.healthChecks > seen + 1);
  const other = rawClient(port);
  const response = new Promise((resolve) => other.open({}, '/test.Echo/Silent').once('response', resolve));
  const call = other.call('honest');
  (await backend.next()).release();
  expect((await call).status).toBe(0);
  await response;
  expect(proxy.stats().backends[0]?.isUp).toBe(true);
});

it('an idle stream is ended, an active one is not', async () => {
  const backend = await gatedBackend();
  const clock = new VirtualClock();
  const { port, proxy } = await proxied(backend, { clock, passThroughIdleMs: 1000 });
  const client = rawClient(port);
  const idle = answerOf(client.open({}, '/test.Echo/Silent').end());
  const busy = client.open({}, '/test.Echo/Silent');
  for (let beat = 1; beat <= 4; beat++) {
    busy.write('x');
    await eventually('the message to arrive', () => backend.silentBytes === beat);
    await clock.advance(500);
  }
  const { status, message } = await idle;
  expect([status, message]).toEqual([UNAVAILABLE, expect.stringContaining('1000 ms')]);
  expect(proxy.stats().openCalls).toBe(1);
  await eventually('its stream to be closed', () => backend.silent === 1);
});
