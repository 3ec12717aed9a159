/** Searches and saved arrivals with real runs against real servers. */
import { parseTrace } from '@batchwise/arena';
import { afterEach, describe, expect, test } from 'vitest';
import { arrivalTimes } from '../../src/run/arrival-times.js';
import { startRun } from '../../src/run/start-run.js';
import { compare } from '../../src/search/compare.js';
import { findKnee } from '../../src/search/find-knee.js';
import { traceText } from '../../src/search/trace-text.js';
import { type Answer, CountingServer } from '../support/counting-server.js';

const servers: CountingServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function started(answer?: Answer): Promise<CountingServer> {
  const server = await CountingServer.start(answer);
  servers.push(server);
  return server;
}

const targetOf = (server: CountingServer) => ({ url: `${server.origin}/classify` });

describe('a run that keeps its arrivals', () => {
  test.each([1, 2])('has every intended start, with %i processes', async (processes) => {
    const server = await started();
    const schedule = { kind: 'poisson', perSecond: 200 } as const;
    const run = await startRun({
      work: { kind: 'target', target: targetOf(server) },
      traffic: { kind: 'arrivals', schedule, maxInFlight: 1000 },
      seconds: 1.5,
      seed: 5,
      processes,
      keepArrivals: true,
    });
    const { arrivals } = await run.ended;
    const { timesMs } = parseTrace(traceText(run.arrivals), 'run.csv');
    expect(timesMs).toHaveLength(arrivals?.due ?? 0);
    const next = arrivalTimes(schedule, 5);
    const drawn = timesMs.map(() => next());
    expect(Math.max(...timesMs.map((at, i) => Math.abs(at - (drawn[i] as number))))).toBeLessThan(0.01);
  });

  test('of users has as many as requests', async () => {
    const server = await started();
    const run = await startRun({
      work: { kind: 'target', target: targetOf(server) },
      traffic: { kind: 'users', users: 5, spawnRate: 100, waitTime: { kind: 'constant', seconds: 0.02 } },
      seconds: 0.5,
      keepArrivals: true,
    });
    const { total } = await run.ended;
    expect(run.arrivals).toHaveLength(total.count);
    expect(run.arrivals).toEqual(run.arrivals.toSorted((a, b) => a - b));
  });

  test('keeps none unless it is asked to', async () => {
    const server = await started();
    const traffic = {
      kind: 'arrivals',
      schedule: { kind: 'constant', perSecond: 50 },
      maxInFlight: 10,
    } as const;
    const run = await startRun({ work: { kind: 'target', target: targetOf(server) }, traffic, seconds: 0.2 });
    await run.ended;
    expect(run.arrivals).toEqual([]);
  });
});

test('a knee search against a server that rejects everything is below, after two short probes', async () => {
  const server = await started((_request, response) => {
    response.statusCode = 429;
    response.end();
  });
  const target = targetOf(server);
  const knee = await findKnee({ startRun, target, targetLatencyMs: 25, secondsPerStep: 1, from: 100 });
  expect(knee.kind).toBe('below');
  expect(knee.probes).toMatchObject([
    { meets: false, isClear: true, shareWithin: 0 },
    { meets: false, isClear: true, shareWithin: 0 },
  ]);
});

test('a comparison with a server that fails one of five requests tells the failures', async () => {
  const good = await started();
  const failing = await started((_request, response, number) => {
    response.statusCode = number % 5 === 0 ? 500 : 200;
    response.end();
  });
  const comparison = await compare({
    startRun,
    a: targetOf(good),
    b: targetOf(failing),
    arrivals: { kind: 'constant', perSecond: 200 },
    secondsPerBlock: 0.25,
    pairs: 6,
  });
  const failed = comparison.metrics.find(({ name }) => name === 'failed_share');
  expect(failed).toMatchObject({ a: 0, b: expect.closeTo(0.2, 1), differs: true });
  expect(good.total).toBe(failing.total);
});
