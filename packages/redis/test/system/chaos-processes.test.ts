/** Processes that die or stand still, in short: the full counts are those of `npm run chaos:redis`. */
import { expect, test } from 'vitest';
import { freezeProcessors } from '../chaos/scenarios/freeze-processors.js';
import { killClients } from '../chaos/scenarios/kill-clients.js';
import { killProcessors } from '../chaos/scenarios/kill-processors.js';

test('processors are killed at random: every request is answered, once', async () => {
  const { requests, figures, wrong } = await killProcessors({ kills: 3, requestsPerSecond: 500 });
  expect(wrong).toEqual([]);
  expect(requests).toBeGreaterThan(100);
  expect(figures['taken over']).toBeGreaterThanOrEqual(3);
  expect(figures['left in the queue']).toBe(0);
});

test('processors stand still past their lease and go on: what others have answered is not answered again', async () => {
  const { figures, wrong } = await freezeProcessors({ freezes: 3, requestsPerSecond: 300 });
  expect(wrong).toEqual([]);
  expect(figures['taken over from the frozen']).toBeGreaterThanOrEqual(3);
  expect(figures['answers that were fenced off']).toBeGreaterThan(0);
});

test('web processes are killed: nothing is left of them, and the queue goes on', async () => {
  const { outcomes, wrong } = await killClients({ kills: 3, concurrent: 50 });
  expect(wrong).toEqual([]);
  expect(outcomes['died with its process']).toBeGreaterThan(0);
});
