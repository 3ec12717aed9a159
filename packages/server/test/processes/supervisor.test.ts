import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RunnerStart, WebStart } from '../../src/processes/control-message.js';
import { type FakeChild, supervised } from './support/fake-processes.js';
import { SETTINGS } from './support/gated-runner.js';

function startOf<S>(child: FakeChild): S {
  if (child.received.length === 0) child.listen();
  const [message] = child.received;
  if (message?.type !== 'start') throw new Error(`Expected a start first, got ${message?.type}.`);
  return message.start as S;
}

describe('starting', () => {
  test('has all processes start at once; the web processes know where the runners will be', async () => {
    const { supervisor, children, child, clock } = supervised({
      runners: [{ name: 'digits', settings: { ...SETTINGS, replicas: 2 }, source: 'digits.onnx' }],
      webProcesses: 2,
    });
    let isStarted = false;
    const starting = supervisor.start().finally(() => {
      isStarted = true;
    });
    expect(children.map(({ kind }) => kind)).toEqual(['runner', 'runner', 'web', 'web']);
    const runners = children.slice(0, 2).map((each) => startOf<RunnerStart>(each));
    expect(runners).toMatchObject([
      { name: 'digits', replica: 0, source: 'digits.onnx' },
      { name: 'digits', replica: 1, source: 'digits.onnx' },
    ]);
    const settings = { ...SETTINGS, replicas: 2 };
    const sockets = runners.map(({ socket }) => socket);
    expect(startOf<WebStart>(child(3))).toEqual({
      settings: 'first',
      isRestart: false,
      runners: [{ name: 'digits', settings, sockets, known: undefined }],
    });
    const known = { kind: 'model', platform: 'fake', signature: undefined };
    child(0).ready(known);
    child(2).ready({ port: 1 });
    child(3).ready({ port: 2 });
    await clock.settle();
    expect(isStarted).toBe(false);
    child(1).ready(known);
    expect(await starting).toEqual([{ port: 1 }, { port: 2 }]);
    expect(supervisor.pids.toSorted()).toEqual([1, 2, 3, 4]);

    child(3).end({ code: 1 });
    await clock.advance(100);
    expect(startOf<WebStart>(child(4))).toEqual({
      settings: 'first',
      isRestart: true,
      runners: [{ name: 'digits', settings, sockets, known }],
    });
  });

  test('puts the sockets where nobody else can enter', async () => {
    const { supervisor, child } = supervised();
    supervisor.start().catch(() => {});
    const folder = dirname(startOf<RunnerStart>(child(0)).socket);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    supervisor.kill();
    expect(existsSync(folder)).toBe(false);
  });

  test('that fails in one process ends all others, with its reason', async () => {
    const { supervisor, children, child, clock } = supervised();
    const starting = supervisor.start();
    child(0).ready();
    await clock.settle();
    child(1).tell({ type: 'failed', message: 'Port 3000 is in use.' });
    child(1).end({ code: 1 });
    await expect(starting).rejects.toThrow('Port 3000 is in use.');
    expect(child(0).signals).toEqual(['SIGKILL']);
    await clock.advance(60_000);
    expect(children.length).toBe(2);
  });

  test.each([
    [{ code: 3 }, 'runner process digits/0 ended with exit code 3 before it was ready.'],
    [{ code: null, signal: 'SIGSEGV' }, 'runner process digits/0 was killed by SIGSEGV before it was ready.'],
    [
      { code: null, error: new Error('spawn ENOMEM') },
      'runner process digits/0 could not be started (spawn ENOMEM) before it was ready.',
    ],
  ] as const)('that ends with %j without a reason says how', async (exit, message) => {
    const { supervisor, child } = supervised();
    const starting = supervisor.start();
    child(0).end(exit);
    await expect(starting).rejects.toThrow(message);
  });
});

describe('a crash', () => {
  test('is followed by a restart after waits that double up to ten seconds', async () => {
    const { supervisor, children, clock, started, lines } = supervised();
    await started();
    const waits: number[] = [];
    for (let crash = 0; crash < 9; crash += 1) {
      const before = children.length;
      children.findLast(({ kind }) => kind === 'runner')?.end({ code: 1 });
      const from = clock.now();
      while (children.length === before) await clock.advance(100);
      waits.push(clock.now() - from);
    }
    expect(waits).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
    expect(supervisor.restarts('runner', 'digits')).toBe(9);
    expect(supervisor.restarts('web')).toBe(0);
    expect(lines[0]).toBe('runner process digits/0 ended with exit code 1; restart in 100 ms.');
  });

  test('after half a minute of health counts as the first again', async () => {
    const { child, children, clock, started } = supervised();
    await started();
    child(0).end({ signal: 'SIGKILL' });
    await clock.advance(100);
    child(2).ready();
    await clock.advance(29_999);
    child(2).end({ signal: 'SIGKILL' });
    await clock.advance(199);
    expect(children.length).toBe(3);
    await clock.advance(1);
    child(3).ready();
    await clock.advance(30_000);
    child(3).end({ signal: 'SIGKILL' });
    await clock.advance(100);
    expect(children.length).toBe(5);
  });

  test('during a restart does not end the server', async () => {
    const { child, children, clock, started } = supervised();
    await started();
    child(1).end({ code: 1 });
    await clock.advance(100);
    child(2).tell({ type: 'failed', message: 'not yet' });
    child(2).end({ code: 1 });
    await clock.advance(200);
    expect(children.length).toBe(4);
    expect(child(0).hasEnded).toBe(false);
  });
});

describe('a process that hangs', () => {
  const settings = { ...SETTINGS, timeoutMs: 5000 };
  const runners = [{ name: 'digits', settings }];

  test('is killed after a long silence, and started again', async () => {
    const { child, children, clock, lines, started } = supervised({ mostSilentMs: 10_000, runners });
    await started();
    for (let second = 1; second < 10; second += 1) {
      await clock.advance(1000);
      child(1).tell({ type: 'alive' });
    }
    expect(child(0).signals).toEqual([]);
    await clock.advance(1000);
    expect(child(0).signals).toEqual(['SIGKILL']);
    expect(child(1).signals).toEqual([]);
    expect(lines).toEqual([
      'runner process digits/0 was killed by SIGKILL (it did not respond for 10000 ms); restart in 100 ms.',
    ]);
    await clock.advance(100);
    expect(children.length).toBe(3);
  });

  test.each(['web', 'runner'])('is noticed whichever it is: %s', async (kind) => {
    const { children, clock, started } = supervised({ mostSilentMs: 3000, runners });
    await started();
    for (let second = 0; second < 6; second += 1) {
      for (const each of children) if (each.kind !== kind) each.tell({ type: 'alive' });
      await clock.advance(1000);
    }
    expect(children.slice(0, 2).map(({ hasEnded }) => hasEnded)).toEqual([kind === 'runner', kind === 'web']);
  });

  test('is given the time-out of its runner, as long as that is by now', async () => {
    const { supervisor, child, clock } = supervised({ mostSilentMs: 1000, runners, webProcesses: 0 });
    const starting = supervisor.start();
    child(0).ready();
    await starting;
    supervisor.reload({ runners: new Map([['digits', { ...settings, timeoutMs: 20_000 }]]) });
    await clock.advance(19_999);
    expect(child(0).signals).toEqual([]);
    await clock.advance(1);
    expect(child(0).signals).toEqual(['SIGKILL']);
  });

  test('is not what a process is that has yet to become ready', async () => {
    const { supervisor, child, clock } = supervised({ mostSilentMs: 1000, runners });
    supervisor.start().catch(() => {});
    child(0).listen();
    await clock.advance(600_000);
    expect(child(0).signals).toEqual([]);
  });

  test('is not what all are because the supervisor itself stood still', async () => {
    const { child, clock, started } = supervised({ mostSilentMs: 10_000, runners });
    await started();
    // As after a SIGSTOP of the whole server: one timer is late, and nobody was silent in between.
    const now = clock.now.bind(clock);
    clock.now = () => now() + 3_600_000;
    await clock.advance(5000);
    expect(child(0).signals).toEqual([]);
  });
});

describe('new settings', () => {
  test('go to all processes, and to those that are started later', async () => {
    const { supervisor, child, clock, started } = supervised();
    await started();
    const settings = { ...SETTINGS, timeoutMs: 7 };
    const reload = {
      runners: new Map([
        ['digits', settings],
        ['unknown', settings],
      ]),
    };
    supervisor.reload(reload);
    expect([child(0), child(1)].map(({ received }) => received.at(-1))).toEqual([
      { type: 'reload', reload },
      { type: 'reload', reload },
    ]);
    child(0).end({ code: 1 });
    child(1).end({ code: 1 });
    await clock.advance(100);
    expect(startOf<RunnerStart>(child(2)).settings).toEqual(settings);
    expect(startOf<WebStart>(child(3))).toMatchObject({ settings: 'first', runners: [{ settings }] });
  });
});

describe('stopping', () => {
  test('ends the web processes first, then the runners', async () => {
    const { supervisor, child, clock, started } = supervised();
    await started();
    const stopping = supervisor.stop();
    expect(child(1).told).toEqual(['start', 'drain']);
    await clock.advance(1000);
    expect(child(0).told).toEqual(['start']);
    child(1).end();
    await clock.settle();
    expect(child(0).received.at(-1)).toEqual({ type: 'drain', timeoutMs: 29_000 });
    child(0).end();
    expect(await stopping).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  test('a killed server resolves when all processes have ended', async () => {
    const { supervisor, child, started } = supervised();
    await started();
    const killed = supervisor.kill();
    expect([child(0).hasEnded, child(1).hasEnded]).toEqual([true, true]);
    await killed;
  });

  test('a runner process with child processes may end them before it is killed', async () => {
    const runner = { name: 'text', settings: SETTINGS, killGraceMs: 1000 };
    const { supervisor, child, clock, started } = supervised({ runners: [runner] });
    await started();
    const killed = supervisor.kill();
    expect(child(1).hasEnded).toBe(true);
    expect([child(0).hasEnded, child(0).told.at(-1)]).toEqual([false, 'drain']);
    await clock.advance(999);
    expect(child(0).hasEnded).toBe(false);
    await clock.advance(1);
    expect(child(0).hasEnded).toBe(true);
    await killed;
  });

  test('kills what does not end in time', async () => {
    const { supervisor, child, clock, started, lines } = supervised({ shutdownTimeoutMs: 5000 });
    await started();
    const stopping = supervisor.stop();
    await clock.advance(5000); // by now it tells those who still wait
    expect(child(1).signals).toEqual([]);
    await clock.advance(2000);
    expect(child(1).signals).toEqual(['SIGKILL']);
    expect(child(0).received.at(-1)).toEqual({ type: 'drain', timeoutMs: 1000 });
    child(0).end();
    expect(await stopping).toBe(false);
    expect(lines).toEqual(['web process 0 did not end within 5000 ms and was killed.']);
  });

  test('while it starts ends cleanly, and the start is over', async () => {
    const { supervisor, child, clock } = supervised();
    const starting = expect(supervisor.start()).rejects.toThrow(
      'web process 0 ended with exit code 0 before it was ready.',
    );
    child(0).ready();
    const stopping = supervisor.stop();
    child(1).end();
    await clock.settle();
    child(0).end();
    expect(await stopping).toBe(true);
    await starting;
  });

  test('before a process listens ends it as soon as it does', () => {
    const { supervisor, child } = supervised();
    supervisor.start().catch(() => {});
    void supervisor.stop();
    child(1).listen();
    expect(child(1).told).toEqual(['drain', 'drain']);
  });

  test('restarts nothing any more', async () => {
    const { supervisor, child, children, clock, started } = supervised();
    await started();
    child(0).end({ code: 1 });
    const stopping = supervisor.stop();
    child(1).end({ code: 1 });
    expect(await stopping).toBe(false);
    await clock.advance(60_000);
    expect(children.length).toBe(2);
  });
});

describe('metrics', () => {
  test('are what all processes answer', async () => {
    const { supervisor, child, started } = supervised();
    await started();
    const collecting = supervisor.collectMetrics(100);
    for (const [index, snapshot] of ['of the runner', 'of the web'].entries()) {
      const question = child(index).received.at(-1);
      if (question?.type !== 'snapshot') throw new Error('not asked');
      child(index).tell({ type: 'snapshot', id: question.id, snapshot });
    }
    const { snapshots, restarts } = await collecting;
    expect(snapshots).toEqual([
      { kind: 'runner', runner: 'digits', index: 0, isAlive: true, snapshot: 'of the runner' },
      { kind: 'web', runner: undefined, index: 0, isAlive: true, snapshot: 'of the web' },
    ]);
    expect(restarts).toEqual([
      { kind: 'runner', runner: 'digits', restarts: 0 },
      { kind: 'web', runner: undefined, restarts: 0 },
    ]);
  });

  test('of a process that does not answer in time are what it said last', async () => {
    const { supervisor, child, clock, started } = supervised();
    await started();
    child(0).tell({ type: 'snapshot', id: undefined, snapshot: 'a moment ago' });
    const collecting = supervisor.collectMetrics(100);
    await clock.advance(100);
    expect((await collecting).snapshots).toMatchObject([{ isAlive: true, snapshot: 'a moment ago' }]);
  });

  test('of processes that ended are kept, put together', async () => {
    const { supervisor, child, clock, started } = supervised({
      foldSnapshots: (kept, ended) => Number(kept) + Number(ended),
    });
    await started();
    child(0).tell({ type: 'snapshot', id: undefined, snapshot: 5 });
    const collecting = supervisor.collectMetrics(100);
    child(0).end({ code: 1 });
    child(1).tell({ type: 'snapshot', id: 1, snapshot: 1 });
    expect((await collecting).snapshots).toMatchObject([
      { kind: 'runner', isAlive: false, snapshot: 5 },
      { kind: 'web', isAlive: true, snapshot: 1 },
    ]);
    await clock.advance(100);
    child(2).ready();
    child(2).tell({ type: 'snapshot', id: undefined, snapshot: 3 });
    child(2).end({ code: 1 });
    const later = supervisor.collectMetrics(100);
    await clock.advance(100);
    expect((await later).snapshots).toContainEqual({
      kind: 'runner',
      runner: 'digits',
      index: 0,
      isAlive: false,
      snapshot: 8,
    });
  });

  test('that a process told before it ended, and that come after it has, are not counted twice', async () => {
    const { supervisor, child, clock, started } = supervised({
      foldSnapshots: (kept, ended) => Number(kept) + Number(ended),
    });
    await started();
    child(0).tell({ type: 'snapshot', id: undefined, snapshot: 5 });
    child(0).end({ code: 1 });
    child(0).tell({ type: 'snapshot', id: undefined, snapshot: 6 });
    const collecting = supervisor.collectMetrics(100);
    await clock.advance(100);
    expect((await collecting).snapshots).toMatchObject([{ kind: 'runner', isAlive: false, snapshot: 5 }]);
  });

  test('are told to a process that asks for those of all', async () => {
    const { child, clock, started } = supervised();
    await started();
    child(0).tell({ type: 'snapshot', id: undefined, snapshot: 'r' });
    child(1).tell({ type: 'collect', id: 77, deadlineMs: 50 });
    await clock.advance(50);
    expect(child(1).received.at(-1)).toMatchObject({
      type: 'collected',
      id: 77,
      report: { snapshots: [{ runner: 'digits', snapshot: 'r' }] },
    });
  });
});
