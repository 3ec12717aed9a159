import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from 'batchwise';
import { afterAll, describe, expect, test } from 'vitest';
import type { LoadReport } from '../src/report/load-report.js';
import type { RunSpec } from '../src/run/load-run.js';
import { startRun } from '../src/run/start-run.js';
import type { Traffic } from '../src/run/traffic.js';
import { loadScenario } from '../src/scenario/load-scenario.js';
import { UserKinds } from '../src/scenario/user-kinds.js';

const folder = mkdtempSync(join(tmpdir(), 'load-scenario-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function scenario(text: string): string {
  const file = join(folder, `load-${files++}.ts`);
  writeFileSync(
    file,
    `import { between, constant, defineLoad, defineUser } from '@batchwise/load';\n${text}`,
  );
  return file;
}

/** Tasks leave what they did here: a scenario is a module of its own. */
const log: string[] = [];
Object.assign(globalThis, { scenarioLog: log });

const users = (count: number): Traffic => ({
  kind: 'users',
  users: count,
  spawnRate: 1000,
  waitTime: { kind: 'constant', seconds: 0.1 },
});

async function played(
  file: string,
  traffic: Traffic,
  ms: number,
  more: Partial<RunSpec> & { readonly tags?: readonly string[] } = {},
): Promise<LoadReport> {
  const { tags, ...rest } = more;
  log.length = 0;
  const clock = new VirtualClock();
  const work = { kind: 'scenario', file, ...(tags !== undefined && { tags }) } as const;
  const run = await startRun({ work, traffic, ...rest }, { clock });
  await clock.advance(ms);
  const stopped = run.stop();
  await clock.advance(6000);
  await stopped;
  return run.ended;
}

const counts = (report: LoadReport) =>
  Object.fromEntries(report.requests.map(({ name, ok, failed }) => [name, { ok, failed }]));

describe('a scenario file', () => {
  test.each([
    [
      'export const other = 1;',
      'exports no scenario: it exports other. Expected: export default defineLoad(',
    ],
    ['export default 7;', 'expected a scenario, such as { users: { … } }, got 7.'],
    ['\nconst x = ;', /cannot be loaded: ParseError.*\(load-\d+\.ts:3\)$/],
    ['function f(): never {\n  return missing();\n}\nf();', /missing is not defined \(load-\d+\.ts:3\)$/],
    ["import 'not-there';", /cannot be loaded: Cannot find module 'not-there'/],
    ['between(3, 1);', /between\(min, max\): expected max not below min. \(load-\d+\.ts:2\)$/],
    ['export default { usres: {} };', 'unknown key usres. Did you mean users?'],
    ['export default { users: {} };', 'users: expected at least one of the kinds of users.'],
    ['export default { users: { a: {} } };', 'users.a: expected either tasks or a sequence.'],
    [
      'export default { users: { a: { wieght: 1, tasks: { x() {} } } } };',
      'users.a: unknown key wieght. Did you mean weight?',
    ],
    [
      'export default { users: { a: { tasks: { x: { run() {}, wieght: 1 } } } } };',
      'users.a.tasks.x: unknown key wieght. Did you mean weight?',
    ],
    [
      'export default { users: { a: { sequence: { x: { run() {}, weight: 1 } } } } };',
      'users.a.sequence.x: unknown key weight.',
    ],
    [
      'export default { users: { a: { weight: -1, tasks: { x() {} } } } };',
      'users.a.weight: expected a weight, a number from 0, got -1.',
    ],
    [
      'export default { users: { a: { waitTime: 3, tasks: { x() {} } } } };',
      'users.a.waitTime: expected a wait time: between(min, max), constant(seconds) or pacing(seconds), got 3.',
    ],
    [
      'export default { users: { a: { tasks: { 1: () => {} } } } };',
      'users.a.tasks.1: expected a name that is not a number',
    ],
    [
      "export default { host: 'localhost:3000', users: { a: { tasks: { x() {} } } } };",
      'host: expected a URL, such as http://localhost:3000, got "localhost:3000". Did you mean http://localhost:3000?',
    ],
    [
      "export default { targets: { a: { url: 'ftp://x' } }, users: { a: { tasks: { x() {} } } } };",
      'targets.a: url: expected http://',
    ],
  ])('%s', async (text, message) => {
    const error = await loadScenario(scenario(text)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'LoadError', code: 'INVALID_OPTION' });
    const found = (error as Error).message;
    expect(found).toMatch(/^load-\d+\.ts/);
    expect(found).not.toContain('\n');
    if (typeof message === 'string') expect(found).toContain(message);
    else expect(found).toMatch(message);
  });

  test('a file that is not there, and tags that no task has', async () => {
    await expect(loadScenario(join(folder, 'none.ts'))).rejects.toThrow('There is no scenario file');
    const file = scenario(`export default { users: { a: { tasks: { x: { tags: ['read'], run() {} } } } } };`);
    await expect(played(file, users(1), 1, { tags: ['raed'] })).rejects.toThrow(
      'no task has the tag raed. Did you mean read?',
    );
  });

  test('any number of users is as close to the weights as possible', () => {
    const tasks = { x: () => {} };
    const kinds = new UserKinds(
      { a: { weight: 3, tasks }, b: { tasks }, c: { weight: 0, tasks } },
      undefined,
      'f',
    );
    const names = Array.from({ length: 8 }, (_, index) => kinds.ofUser(index).name);
    expect(names.filter((name) => name === 'a')).toHaveLength(6);
    expect(names.slice(0, 4).filter((name) => name === 'a')).toHaveLength(3);
  });
});

describe('users of a scenario', () => {
  test('have their own state, start, do tasks by weight with pauses, and stop', async () => {
    const file = scenario(`
      export default defineLoad({
        users: {
          visitor: defineUser({
            waitTime: constant(0.5),
            state: () => ({ tasks: 0 }),
            onStart: (user) => { scenarioLog.push('start ' + user.index); },
            onStop: (user) => { scenarioLog.push('stop ' + user.index + ' ' + user.state.tasks); },
            tasks: {
              often: { weight: 3, run: async (user) => { user.state.tasks++; await user.call('often', () => 1); } },
              seldom: async (user) => { user.state.tasks++; await user.call('seldom', async () => 1); },
            },
          }),
        },
      });
      declare const scenarioLog: string[];
    `);
    const report = await played(file, users(2), 100_250);
    expect(log).toEqual(['start 0', 'start 1', 'stop 0 201', 'stop 1 201']);
    const { often, seldom } = counts(report);
    expect((often?.ok ?? 0) + (seldom?.ok ?? 0)).toBe(402);
    expect((often?.ok ?? 0) / (seldom?.ok ?? 1)).toBeGreaterThan(2);
    expect((often?.ok ?? 0) / (seldom?.ok ?? 1)).toBeLessThan(4.5);
  });

  test('a task that throws is counted with its message, once, and the user goes on', async () => {
    const file = scenario(`
      export default defineLoad({
        users: {
          visitor: {
            sequence: {
              broken: () => { throw new Error('out of order'); },
              failing: (user) => user.call('compute', async () => { throw new Error('no memory'); }),
              unknown: (user) => user.target('qeue').send(),
              fine: (user) => user.call('fine', () => 1),
            },
          },
        },
      });
    `);
    const report = await played(file, users(1), 1150);
    expect(counts(report)).toEqual({
      broken: { ok: 0, failed: 3 },
      compute: { ok: 0, failed: 3 },
      unknown: { ok: 0, failed: 3 },
      fine: { ok: 3, failed: 0 },
    });
    expect(report.failures.map(({ reason }) => reason)).toEqual([
      'Error: out of order',
      'Error: no memory',
      'TypeError: target(name): the scenario has no target qeue.',
    ]);
  });

  test('the same seed makes the same choices', async () => {
    const file = scenario(`
      export default defineLoad({
        users: { visitor: { waitTime: between(0.1, 0.3), tasks: {
          draw: (user) => { scenarioLog.push(user.index + ' ' + user.pick(['a', 'b', 'c']) + user.random()); },
        } } },
      });
      declare const scenarioLog: string[];
    `);
    const drawn = async (seed: number) => {
      await played(file, users(3), 2000, { seed });
      return [...log];
    };
    const first = await drawn(1);
    expect(first.length).toBeGreaterThan(15);
    expect(await drawn(1)).toEqual(first);
    expect(await drawn(2)).not.toEqual(first);
  });

  test('only tasks with the tags of the run', async () => {
    const file = scenario(`
      export default defineLoad({
        users: {
          reader: { tasks: {
            read: { tags: ['read'], run: (user) => user.call('read', () => 1) },
            write: { tags: ['write'], run: (user) => user.call('write', () => 1) },
          } },
          other: { tasks: { other: (user) => user.call('other', () => 1) } },
        },
      });
    `);
    expect(Object.keys(counts(await played(file, users(4), 1000, { tags: ['read'] })))).toEqual(['read']);
  });

  test('a task that waits for nothing leaves room for timers', async () => {
    const file = scenario(`
      export default defineLoad({ users: { a: { waitTime: constant(0), tasks: {
        spin: () => { if (scenarioLog.push('x') > 5000) throw new Error('spins'); },
      } } } });
      declare const scenarioLog: string[];
    `);
    log.length = 0;
    const traffic = users(1);
    const run = await startRun({ work: { kind: 'scenario', file }, traffic, seconds: 0.05 });
    expect(await run.ended).toMatchObject({ state: 'ended' });
  });

  test('a stopped run ends tasks at their next step, and sleeps at once', async () => {
    const file = scenario(`
      export default defineLoad({ users: { a: {
        onStop: () => { scenarioLog.push('stop'); },
        tasks: {
          endless: async (user) => {
            for (;;) {
              try { await user.call('step', () => user.random()); await user.sleep(60); } catch { scenarioLog.push('caught'); }
              scenarioLog.push('next');
            }
          },
        },
      } } });
      declare const scenarioLog: string[];
    `);
    const report = await played(file, users(2), 90_000);
    expect(log).toEqual(['next', 'next', 'stop', 'stop']);
    expect(counts(report)).toEqual({ step: { ok: 4, failed: 0 } });
    expect(report.seconds).toBe(90);
  });

  test('a call without an end is failed when the time is up', async () => {
    const file = scenario(`
      export default defineLoad({ users: { a: { tasks: {
        hang: (user) => user.call('hang', () => new Promise(() => {})),
      } } } });
    `);
    const report = await played(file, users(3), 1000);
    expect(report.failures).toEqual([
      { name: 'hang', kind: 'failed', reason: 'no response when the run ended', count: 3 },
    ]);
  });

  test('a shape sets the users; one that throws ends the run and is in the report', async () => {
    const file = scenario(`
      export default defineLoad({
        users: { a: { tasks: { x: (user) => user.call('x', () => 1) } } },
        shape: (seconds) => {
          if (seconds > 3) throw new Error('no idea');
          return { users: 10 * (seconds + 1), spawnRate: 1000 };
        },
      });
    `);
    const report = await played(file, users(1), 10_000);
    expect(report.series.slice(0, 4).map((point) => point.users)).toEqual([10, 20, 30, 40]);
    expect(report.seconds).toBe(4);
    expect(report.failures).toMatchObject([{ name: 'shape', reason: 'Error: no idea', count: 1 }]);
  });
});

describe('arrivals of a scenario', () => {
  const arrivals = (perSecond: number): Traffic => ({
    kind: 'arrivals',
    schedule: { kind: 'constant', perSecond },
    maxInFlight: 1000,
  });

  test('each runs one task, or a whole sequence, of a user that has started', async () => {
    const file = scenario(`
      export default defineLoad({
        users: {
          one: { weight: 3, onStart: () => { scenarioLog.push('start'); }, onStop: () => { scenarioLog.push('stop'); },
            tasks: { a: (user) => user.call('a', () => 1), b: (user) => user.call('b', () => 1) } },
          two: { sequence: { c: (user) => user.call('c', () => 1), d: (user) => user.call('d', () => 1) } },
        },
      });
      declare const scenarioLog: string[];
    `);
    const report = await played(file, arrivals(100), 10_000, { seconds: 10 });
    const { a, b, c, d } = counts(report);
    expect((a?.ok ?? 0) + (b?.ok ?? 0) + (c?.ok ?? 0)).toBe(1000);
    expect(d).toEqual(c);
    expect((c?.ok ?? 0) / 250).toBeGreaterThan(0.7);
    expect((c?.ok ?? 0) / 250).toBeLessThan(1.3);
    // The clock stands still during a task: one user is enough.
    expect(log).toEqual(['start', 'stop']);
  });

  test('choices depend on the arrival, not on how many users there are', async () => {
    const file = scenario(`
      export default defineLoad({ users: { a: { tasks: {
        draw: async (user) => { scenarioLog.push(user.pick(['a', 'b', 'c']) + user.random()); await scenarioWait(user); },
      } } } });
      declare const scenarioLog: string[];
    `);
    const drawn = async (wait: (user: { sleep(seconds: number): Promise<void> }) => Promise<void>) => {
      Object.assign(globalThis, { scenarioWait: wait });
      await played(file, arrivals(20), 2000, { seconds: 2 });
      return [...log];
    };
    const alone = await drawn(async () => {});
    expect(alone).toHaveLength(40);
    expect(await drawn((user) => user.sleep(0.3))).toEqual(alone);
  });

  test('the intended start is that of the first request, and not of one after a sleep', async () => {
    const file = scenario(`
      export default defineLoad({
        users: {
          a: { tasks: { x: async (user) => {
            const wait = (ms) => new Promise((resolve) => scenarioClock.setTimer(resolve, ms));
            await wait(20);
            await user.call('first', () => wait(10));
            await user.call('second', () => wait(10));
          } } },
        },
      });
    `);
    const clock = new VirtualClock();
    Object.assign(globalThis, { scenarioClock: clock });
    const run = await startRun(
      { work: { kind: 'scenario', file }, traffic: arrivals(10), seconds: 1 },
      { clock },
    );
    await clock.advance(2000);
    const figures = new Map((await run.ended).requests.map((request) => [request.name, request]));
    expect(figures.get('first')).toMatchObject({ ok: 10, latency: { max: 10 }, intended: { max: 30 } });
    expect(figures.get('second')).toMatchObject({ ok: 10, latency: { max: 10 }, intended: { max: 10 } });
  });
});
