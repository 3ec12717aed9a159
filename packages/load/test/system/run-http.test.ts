import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { LoadRun } from '../../src/run/load-run.js';
import { startRun } from '../../src/run/start-run.js';
import type { Traffic } from '../../src/run/traffic.js';
import { type Answer, CountingServer } from '../support/counting-server.js';

const servers: CountingServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function started(answer?: Answer, port?: number): Promise<CountingServer> {
  const server = await CountingServer.start(answer, port);
  servers.push(server);
  return server;
}

const targetOf = (server: CountingServer) =>
  ({
    kind: 'target',
    target: { url: `${server.origin}/classify`, data: [{ json: { text: 'hello' } }] },
  }) as const;

const users = (count: number, seconds = 0.005): Traffic => ({
  kind: 'users',
  users: count,
  spawnRate: 1000,
  waitTime: { kind: 'constant', seconds },
});

const arrivals = (perSecond: number): Traffic => ({
  kind: 'arrivals',
  schedule: { kind: 'poisson', perSecond },
  maxInFlight: 100_000,
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('a run over HTTP', () => {
  test('arrivals: the target has seen every request that the report counts', async () => {
    const server = await started((_request, response, number) => {
      if (number % 10 === 1) response.statusCode = 429;
      if (number % 10 === 2) response.statusCode = 503;
      response.setHeader('batchwise-batch-size', '4');
      response.end('{"ok":true}');
    });
    const run = await startRun({
      work: targetOf(server),
      traffic: arrivals(400),
      seconds: 2,
      stopSeconds: 60,
      seed: 3,
    });
    const { total, arrivals: figures, requests, failures, batchSizes } = await run.ended;
    expect(total.count).toBe(server.total);
    expect(figures?.sent).toBe(server.total);
    // A machine that is too slow at the end of the run does not send all of them.
    expect(figures?.due).toBe(server.total + (figures?.notSent ?? 0));
    const share = (last: number) => Math.floor((server.total + 9 - last) / 10);
    expect(total).toMatchObject({
      rejected: share(1),
      failed: share(2),
      ok: server.total - share(1) - share(2),
    });
    expect(requests.map(({ name }) => name)).toEqual(['POST /classify']);
    expect(failures.map(({ reason }) => reason).sort()).toEqual([
      '429 Too Many Requests',
      '503 Service Unavailable',
    ]);
    expect(batchSizes).toMatchObject([{ size: 4, requests: total.ok }]);
  });

  test('users can be changed in mid-run, and stop() ends it with a complete report', async () => {
    const held = new Set<() => void>();
    const server = await started((_request, response) => {
      held.add(() => response.end('{}'));
    });
    const release = () => {
      for (const end of held) end();
      held.clear();
    };
    const run = await startRun({ work: targetOf(server), traffic: users(10, 0), stopSeconds: 60 });
    await until(() => held.size === 10);
    run.setUsers(25, 1000);
    await until(() => held.size === 25);
    run.setUsers(3, 1000);
    // A user that is to stop has its response first: rounds go on until only those that stay send.
    await until(() => {
      const size = held.size;
      release();
      return size === 3;
    });
    await until(() => held.size === 3);
    const stopped = run.stop();
    expect(run.state).toBe('stopping');
    release();
    await stopped;
    const report = await run.ended;
    expect(report).toMatchObject({ state: 'ended', total: { count: server.total, ok: server.total } });
    expect(report.traffic).toMatchObject({ users: 3, spawnRate: 1000 });
  });

  test('requests without a response are failed after the time to stop', async () => {
    const server = await started(() => {});
    const run = await startRun({ work: targetOf(server), traffic: users(7, 0), stopSeconds: 0.1 });
    await until(() => server.total === 7);
    await run.stop();
    expect((await run.ended).failures).toEqual([
      { name: 'POST /classify', kind: 'failed', reason: 'no response when the run ended', count: 7 },
    ]);
  });

  test('a target that dies is counted, and found again when it is back', async () => {
    const first = await started();
    const run = await startRun({ work: targetOf(first), traffic: users(5) });
    await until(() => first.total > 50);
    const { port } = first;
    await first.close();
    servers.length = 0;
    await until(() => run.report().failures.some(({ reason }) => reason === 'ECONNREFUSED'));
    const second = await started(undefined, port);
    await until(() => second.total > 50);
    await run.stop();
    const { total } = await run.ended;
    expect(total.ok + total.failed).toBe(total.count);
    // A response that was on its way when the target died is a failure.
    expect(total.ok).toBeLessThanOrEqual(first.total + second.total);
    expect(total.ok).toBeGreaterThanOrEqual(first.total + second.total - 5);
  });

  test('what is wrong is known before the run', async () => {
    const server = await started();
    const { origin } = server;
    await server.close();
    servers.length = 0;
    const work = { kind: 'target', target: { url: `${origin}/x` } } as const;
    await expect(startRun({ work, traffic: users(1) })).rejects.toMatchObject({ code: 'UNREACHABLE' });
    await expect(startRun({ work, traffic: users(-1) })).rejects.toThrow(
      'traffic.users: expected a whole number from 0 to 1000000, got -1.',
    );
    await expect(startRun({ work, traffic: users(1), failIf: ['p99 > quick'] })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    });
  });

  test('a stall of a second shows in the latencies from the intended start', async () => {
    let stalledAt: number | undefined;
    const server = await started((_request, response, number) => {
      if (number === 300) stalledAt = performance.now();
      const left = stalledAt === undefined ? 0 : stalledAt + 1000 - performance.now();
      if (left > 0) setTimeout(() => response.end('{}'), left);
      else response.end('{}');
    });
    const spec = {
      work: targetOf(server),
      traffic: arrivals(200),
      seconds: 4,
      failIf: ['intended_p99 > 500ms'],
    };
    const { total, verdicts } = await (await startRun(spec)).ended;
    expect(total.intended.max).toBeGreaterThanOrEqual(990);
    expect(total.intended.p99).toBeGreaterThan(800);
    expect(verdicts).toMatchObject([{ isBroken: true }]);
  });

  test('a scenario: counts by name match, checks decide, users log in and out', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'load-http-'));
    const file = join(folder, 'load.ts');
    writeFileSync(
      file,
      `import { constant, defineLoad, defineUser } from '@batchwise/load';
      export default defineLoad({
        samples: { texts: ['a', 'b'] },
        targets: { direct: { url: process.env.LOAD_TEST_ORIGIN + '/direct', data: [{ json: 1 }] } },
        users: {
          visitor: defineUser({
            waitTime: constant(0.005),
            state: () => ({ token: '' }),
            async onStart(user) {
              user.state.token = (await user.post('/login')).headers['x-token'] ?? '';
            },
            onStop: (user) => user.post('/logout', { headers: { 'x-token': user.state.token } }),
            sequence: {
              one: (user) => user.post('/echo', { json: user.sample('texts'), check: (r) => r.json() === 'a' || 'is b' }),
              two: (user) => user.get('/missing', { name: 'not there', query: { q: 1 }, check: (r) => r.status === 404 }),
              three: (user) => user.target('direct').send(),
              four: (user) => user.get('/missing'),
            },
          }),
        },
      });`,
    );
    let echoes = 0;
    const server = await started((request, response) => {
      response.setHeader('x-token', 't7');
      if (request.url?.startsWith('/missing')) response.statusCode = 404;
      if (request.url === '/logout' && request.headers['x-token'] !== 't7') response.statusCode = 401;
      response.end(request.url === '/echo' ? (echoes++ % 2 === 0 ? '"a"' : '"b"') : '{}');
    });
    process.env.LOAD_TEST_ORIGIN = server.origin;
    let run: LoadRun | undefined;
    try {
      run = await startRun({
        work: { kind: 'scenario', file, host: server.origin },
        traffic: users(8),
        stopSeconds: 60,
      });
      await until(() => server.total > 200);
      await run.stop();
    } finally {
      rmSync(folder, { recursive: true });
    }
    const report = await run.ended;
    const of = (name: string) => report.requests.find((request) => request.name === name);
    const seen = (key: string) => server.seen.get(key) ?? 0;
    expect(report.total.count).toBe(server.total);
    expect(of('POST /login')).toMatchObject({ count: 8, ok: 8 });
    expect(of('POST /logout')).toMatchObject({ count: 8, ok: 8 });
    expect(of('POST /echo')).toMatchObject({
      count: seen('POST /echo'),
      failed: Math.floor(seen('POST /echo') / 2),
    });
    expect(of('POST /direct')).toMatchObject({ count: seen('POST /direct'), failed: 0 });
    expect(of('not there')?.failed).toBe(0);
    expect((of('not there')?.count ?? 0) + (of('GET /missing')?.count ?? 0)).toBe(seen('GET /missing'));
    expect(report.failures.map(({ name, reason }) => `${name}: ${reason}`).sort()).toEqual([
      'GET /missing: 404 Not Found',
      'POST /echo: is b',
    ]);
    expect(report.target).toBe('load.ts');
  });
});
