import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realClock } from 'batchwise';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { ChildPart } from '../../src/run/child-part.js';
import { startRun } from '../../src/run/start-run.js';
import type { Traffic } from '../../src/run/traffic.js';
import { type Answer, CountingServer } from '../support/counting-server.js';

const FIXTURE = fileURLToPath(new URL('./fixtures/run-until-sigint.js', import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'load-processes-'));
afterAll(() => rmSync(folder, { recursive: true }));

const servers: CountingServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function started(answer?: Answer): Promise<CountingServer> {
  const server = await CountingServer.start(answer);
  servers.push(server);
  return server;
}

const users = (count: number): Traffic => ({
  kind: 'users',
  users: count,
  spawnRate: 1000,
  waitTime: { kind: 'constant', seconds: 0.01 },
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('a run in several processes', () => {
  test('sends the arrivals that one process would send, and adds up their figures exactly', async () => {
    const server = await started((_request, response, number) => {
      response.setHeader('batchwise-batch-size', '2');
      if (number % 7 === 6) response.statusCode = 500;
      response.end('{"ok":true}');
    });
    const spec = {
      work: { kind: 'target', target: { url: `${server.origin}/x` } },
      traffic: {
        kind: 'arrivals',
        schedule: { kind: 'poisson', perSecond: 300 },
        maxInFlight: 100_000,
      },
      seconds: 2,
      stopSeconds: 60,
      seed: 11,
    } as const;
    const two = await (await startRun({ ...spec, processes: 2 })).ended;
    expect(two.total.count).toBe(server.total);
    expect(two.arrivals?.sent).toBe(server.total);
    expect(two.total.failed).toBe(Math.floor(server.total / 7));
    expect(two.total.latency.count).toBe(two.total.ok);
    expect(two.batchSizes).toMatchObject([{ size: 2, requests: two.total.ok }]);
    expect(two.series.reduce((sum, point) => sum + point.ok + point.failed, 0)).toBe(server.total);
    expect(two.generator.processes).toBe(2);
    const one = await (await startRun({ ...spec, processes: 1 })).ended;
    expect(one.arrivals?.due).toBe(two.arrivals?.due);
  });

  test('users are split, changed and stopped in all processes', async () => {
    const held = new Set<() => void>();
    const server = await started((_request, response) => {
      held.add(() => response.end('{}'));
    });
    const work = { kind: 'target', target: { url: `${server.origin}/x` } } as const;
    const run = await startRun({ work, traffic: users(7), processes: 2, stopSeconds: 60 });
    await until(() => held.size === 7);
    run.setUsers(16, 1000);
    await until(() => held.size === 16);
    const stopped = run.stop();
    // Whatever was sent before the message arrived is answered.
    const answering = setInterval(() => {
      for (const end of held) end();
      held.clear();
    }, 5);
    await stopped;
    clearInterval(answering);
    expect(await run.ended).toMatchObject({
      state: 'ended',
      total: { count: server.total, ok: server.total },
    });
  });

  test('a process that dies is reported, and the run goes on with the rest', async () => {
    const file = join(folder, 'dying.ts');
    writeFileSync(
      file,
      `import { defineLoad } from '@batchwise/load';
      export default defineLoad({ users: { a: { tasks: {
        async x(user) {
          const response = await user.get('/x');
          if (user.index === 1 && response.headers['x-die'] === 'yes') process.kill(process.pid, 'SIGKILL');
        },
      } } } });`,
    );
    let isDying = false;
    const server = await started((_request, response) => {
      if (isDying) response.setHeader('x-die', 'yes');
      response.end('{}');
    });
    const work = { kind: 'scenario', file, host: server.origin } as const;
    const run = await startRun({ work, traffic: users(4), processes: 2 });
    await until(() => server.total > 50);
    isDying = true;
    // A slow machine has other warnings too.
    await until(() => run.report().warnings.some((text) => text.startsWith('Process 2 of 2')));
    const before = server.total;
    await until(() => server.total > before + 20);
    await run.stop();
    const report = await run.ended;
    expect(report.warnings[0]).toMatch(/^Process 2 of 2 was lost \(signal SIGKILL\)/);
    expect(report.total.count).toBeLessThanOrEqual(server.total);
    expect(report.total.count).toBeGreaterThan(20);
  });

  test('a process that dies when it is ready, and the run has not started, is lost and ends', async () => {
    // Its exit was taken for one that `prepare()` reports, and the run waited for it for ever.
    const server = await started();
    const part = new ChildPart(realClock, 1);
    const events: string[] = [];
    const work = { kind: 'target', target: { url: `${server.origin}/x` } } as const;
    await part.prepare(
      { work, traffic: users(1) },
      { index: 0, count: 1 },
      {
        onInterval: () => {},
        onStopping: () => {},
        onLost: (how) => events.push(how),
        onEnded: () => events.push('ended'),
      },
    );
    part.kill();
    await until(() => isGone(part.pid ?? 0, 'process'));
    part.start(Date.now());
    await until(() => events.includes('ended'));
    expect(events).toEqual(['signal SIGKILL', 'ended']);
  });

  test('what is wrong is known before the run', async () => {
    const server = await started();
    const { origin } = server;
    await server.close();
    servers.length = 0;
    const work = { kind: 'target', target: { url: `${origin}/x` } } as const;
    await expect(startRun({ work, traffic: users(2), processes: 2 })).rejects.toMatchObject({
      name: 'LoadError',
      code: 'UNREACHABLE',
    });
  });

  test('Ctrl-C reaches all processes of a terminal, and the report is complete', async () => {
    const server = await started();
    const child = spawn(process.execPath, [FIXTURE, `${server.origin}/x`], {
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    await until(() => server.total > 100 && output.includes('running'));
    process.kill(-(child.pid ?? 0), 'SIGINT');
    const [code] = (await once(child, 'exit')) as [number | null];
    expect(code).toBe(0);
    const [, json = ''] = output.trim().split('\n');
    expect(JSON.parse(json)).toEqual({
      state: 'ended',
      count: server.total,
      ok: server.total,
      failures: [],
      warnings: expect.any(Array),
    });
  });

  test('the processes end with their parent', async () => {
    const server = await started();
    const child = spawn(process.execPath, [FIXTURE, `${server.origin}/x`], {
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await until(() => server.total > 50);
    const group = child.pid ?? 0;
    child.kill('SIGKILL');
    await once(child, 'exit');
    await until(() => isGone(group, 'group'));
    expect(isGone(group, 'group')).toBe(true);
  });
});

/** Whether the process, or every process of the group, has ended. */
function isGone(pid: number, what: 'process' | 'group'): boolean {
  try {
    process.kill(what === 'group' ? -pid : pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
