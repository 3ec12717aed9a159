/** A replica that lags behind and connections that drop all the time, in short: the full counts are those of `npm run chaos:redis`. */
import { expect, test } from 'vitest';
import { dropConnections } from '../chaos/scenarios/drop-connections.js';
import { failOver } from '../chaos/scenarios/fail-over.js';

test('a replica that lags behind takes over: every call is settled, once', async () => {
  const { figures, wrong } = await failOver({ failovers: 3, requestsPerSecond: 300 });
  expect(wrong).toEqual([]);
  expect(figures.answered).toBeGreaterThan(60);
});

test('connections drop several times per lease, and processors are killed: every request is answered', async () => {
  const { figures, wrong } = await dropConnections({ kills: 2, requestsPerSecond: 200 });
  expect(wrong).toEqual([]);
  expect(figures['left in the queue']).toBe(0);
  expect(figures.cuts).toBeGreaterThan(0);
});
