import { expect, test } from 'vitest';
import { healthRoutes } from '../../src/http/health-routes.js';
import { HttpStage } from './support/http-stage.js';

test('liveness and health are answered with 200 whether ready or not, readiness is not', async () => {
  let readiness = { isReady: false, reasons: ['digits is warming up', 'iris cannot be reached'] };
  const { url } = await HttpStage.open(
    {},
    healthRoutes(() => readiness),
  );
  const statuses = () =>
    Promise.all(['livez', 'readyz', 'healthz'].map(async (path) => (await fetch(`${url}/${path}`)).status));

  expect(await statuses()).toEqual([200, 503, 200]);
  const refused = await fetch(`${url}/readyz`);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(refused.headers.get('cache-control')).toBe('no-store');
  expect(await refused.json()).toMatchObject({
    code: 'NOT_READY',
    detail: 'Not ready: digits is warming up; iris cannot be reached.',
  });
  expect(await (await fetch(`${url}/healthz`)).json()).toEqual({
    status: 'not_ready',
    ...{ reasons: readiness.reasons },
  });

  readiness = { isReady: true, reasons: [] };
  expect(await statuses()).toEqual([200, 200, 200]);
});

test('they are answered while the server drains', () => {
  for (const { isWork } of healthRoutes(() => ({ isReady: true, reasons: [] }))) expect(isWork).toBe(false);
});
