/** A Redis that dies, ways to it that break, and many callers, in short: the full counts are those of `npm run chaos:redis`. */
import { expect, test } from 'vitest';
import { cutConnections } from '../chaos/scenarios/cut-connections.js';
import { fickleCallers } from '../chaos/scenarios/fickle-callers.js';
import { manyAtOnce } from '../chaos/scenarios/many-at-once.js';
import { restartRedis } from '../chaos/scenarios/restart-redis.js';

test('Redis is killed and started again: what it had accepted is answered', async () => {
  const { requests, figures, wrong } = await restartRedis({ restarts: 4, requestsPerSecond: 500 });
  expect(wrong).toEqual([]);
  expect(requests).toBeGreaterThan(200);
  expect(figures['left in the queue']).toBe(0);
});

test('connections are cut after the write, whatever was written: nothing is lost, and nothing runs twice', async () => {
  const { figures, wrong } = await cutConnections({ cuts: 40, requestsPerSecond: 300 });
  expect(wrong).toEqual([]);
  for (const what of ['submit', 'fetch', 'answer', 'read replies', 'renew', 'take over']) {
    expect(figures[`cut on ${what}`]).toBeGreaterThan(0);
  }
});

test('many callers at a time: none is lost', async () => {
  const { figures, wrong } = await manyAtOnce({ requests: 5000, concurrent: 1000 });
  expect(wrong).toEqual([]);
  expect(figures['left in the queue']).toBe(0);
});

test('callers give up at any moment: all others are answered, and processors go on', async () => {
  const { outcomes, wrong } = await fickleCallers({ rounds: 8, callers: 200 });
  expect(wrong).toEqual([]);
  for (const end of ['answered', 'CANCELLED', 'DEADLINE_EXCEEDED']) expect(outcomes[end]).toBeGreaterThan(0);
});
