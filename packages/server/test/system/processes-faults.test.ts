/** Servers of real processes that are killed, stopped and started badly. Needs what `npm run build` makes. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isRunning, Load, type Reply, Server, until } from './processes-support.js';

interface Report {
  readonly snapshots: readonly {
    readonly kind: string;
    readonly isAlive: boolean;
    readonly snapshot: number;
  }[];
  readonly restarts: readonly { readonly kind: string; readonly restarts: number }[];
}

/** Undefined also where nobody answered: who asked had a process that was just being killed. */
const restartsOf = (report: Report | undefined, kind: string) =>
  report?.restarts?.find((each) => each.kind === kind)?.restarts;

describe('a runner process that is killed under load', () => {
  test.each([1, 2])('leaves no caller without an answer, of %i replicas', async (replicas) => {
    const server = await new Server({ replicas }).started();
    const runnerPid = await server.body<number>('pid');
    const load = new Load(server);
    await load.more(200);
    process.kill(runnerPid, 'SIGKILL');
    if (replicas === 1) await load.more(1, 503);
    await until(async () => restartsOf(await server.body<Report>('metrics'), 'runner') === 1, 'a restart');
    await until(async () => (await server.get('state', true)).body === 'ready', 'ready again');
    await load.more(200);
    await load.end();
    expect(load.replies.length).toBe(load.sent);
    // Answered or told that it was lost, nothing else: no connection broke, nobody waits.
    expect(Object.keys(load.statuses()).filter((status) => status !== '503')).toEqual(['200']);
    const report = await server.body<Report>('metrics');
    const counted = report.snapshots.filter(({ kind }) => kind === 'runner');
    if (replicas === 1) expect(counted.map(({ isAlive }) => isAlive)).toContain(true);
    expect(server.logs[0]).toMatch(/^runner process doubler\/\d was killed by SIGKILL; restart in 100 ms\.$/);
  });

  test('again and again comes back each time', async () => {
    const server = await new Server().started();
    for (let round = 0; round < 3; round += 1) {
      const pid = await server.body<number>('pid');
      const { status, body } = await server.get('exit', true);
      expect([status, body]).toMatchObject([503, { code: 'UNAVAILABLE' }]);
      await until(async () => (await server.get(21, true)).body === 42, 'it answers again');
      expect(await server.body<number>('pid')).not.toBe(pid);
    }
  });
});

describe('a process that hangs', () => {
  // The callers would wait for ever: only the silence of the process ends it.
  const options = { mostSilentMs: 3000, hasTimeout: false, webProcesses: 1 };

  const isTold = ({ status, body }: Reply) =>
    status === 503 && /was lost/.test((body as { message: string }).message);

  test.each([
    ['in an endless loop', async () => {}, 'hang'],
    ['because it is stopped', (pid: number) => process.kill(pid, 'SIGSTOP'), '1'],
  ] as const)('%s: a runner is killed, its callers are told, and it comes back', async (_, stop, item) => {
    const server = await new Server(options).started();
    const pid = await server.body<number>('pid');
    await stop(pid);
    const callers = [item, 2, 3].map((each) => server.get(each, true));
    expect((await Promise.all(callers)).map(isTold)).toEqual([true, true, true]);
    await until(async () => (await server.get(21, true)).body === 42, 'it answers again');
    expect(await server.body<number>('pid')).not.toBe(pid);
    expect(server.logs).toEqual([
      expect.stringMatching(
        /^runner process doubler\/0 was killed by SIGKILL \(it did not respond for \d+ ms\); restart in/,
      ),
    ]);
  });

  test('as a web process is replaced', async () => {
    const server = await new Server({ ...options, webProcesses: 2 }).started();
    const { webPid } = await server.get(1);
    process.kill(webPid, 'SIGSTOP');
    // Over the connection that it has, and over some of which the cluster hands it every other one.
    const callers = [server.get(2), ...[3, 4, 5, 6].map((item) => server.get(item, true))];
    const [first, ...others] = (await Promise.all(callers)).map(({ status }) => status);
    expect(first).toBeUndefined();
    expect(new Set(others)).toEqual(new Set([200, undefined]));
    await until(async () => restartsOf(await server.body<Report>('metrics'), 'web') === 1, 'a restart');
    expect(server.logs.join()).toMatch(/^web process \d was killed by SIGKILL \(it did not respond/);
  });

  test('does not outlive its supervisor, once it runs again', async () => {
    const server = await new Server({ webProcesses: 2, replicas: 2 }).started();
    for (const pid of server.pids) process.kill(pid, 'SIGSTOP');
    process.kill(server.process.pid ?? 0, 'SIGKILL');
    await server.exit;
    for (const pid of server.pids.filter(isRunning)) process.kill(pid, 'SIGCONT');
    await until(() => !server.pids.some(isRunning), 'all are gone');
  });
});

describe('a web process that is killed under load', () => {
  test('takes only its own connections with it', async () => {
    const server = await new Server().started();
    const load = new Load(server);
    await load.more(200);
    const webPid = load.replies.at(-1)?.webPid ?? 0;
    process.kill(webPid, 'SIGKILL');
    await until(() => load.statuses().undefined !== undefined, 'its callers notice');
    await until(async () => restartsOf(await server.body<Report>('metrics'), 'web') === 1, 'a restart');
    await load.more(200);
    await load.end();
    const { 200: answered, undefined: lost, ...others } = load.statuses();
    expect(others).toEqual({});
    expect(answered).toBeGreaterThan(400);
    expect(lost).toBeLessThanOrEqual(20);
    expect(load.replies.length).toBe(load.sent);
  });
});

describe('SIGTERM', () => {
  test.each([
    ['the supervisor', (pid: number) => process.kill(pid, 'SIGTERM')],
    ['all processes, as a terminal does', (pid: number) => process.kill(-pid, 'SIGINT')],
  ])('to %s under load: nothing accepted fails', async (_, signal) => {
    const server = await new Server({ batchMs: 10 }).started();
    const load = new Load(server, 40);
    await load.more(300);
    signal(server.process.pid ?? 0);
    expect(await server.exit).toEqual([0, null]);
    await load.end();
    const { 200: answered, undefined: refused, ...others } = load.statuses();
    expect(others).toEqual({});
    expect(refused).toBeGreaterThan(0);
    // What the web processes have seen of requests, the callers have seen of answers.
    await until(() => server.lines.filter(({ drained }) => drained).length === 2, 'both tell');
    let received = 0;
    for (const { drained } of server.lines) received += drained?.received ?? 0;
    expect(answered).toBe(received);
    expect(server.pids.filter(isRunning)).toEqual([]);
  });

  test('waits for what takes long', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'batchwise-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const gate = join(folder, 'gate');
    const server = await new Server({ source: { gate }, webProcesses: 1 }).started();
    const sockets = await server.body<string>('folder');
    const held = Array.from({ length: 10 }, () => server.get('hold', true));
    await until(async () => (await server.body<number>('open')) === 10, 'all are accepted');
    process.kill(server.process.pid ?? 0, 'SIGTERM');
    // Not by a request: the cluster forgets a connection that it was about to hand to the last process as that closed.
    await until(() => server.isClosed(), 'no more are accepted');
    writeFileSync(gate, '');
    expect((await Promise.all(held)).map(({ status, body }) => [status, body])).toEqual(
      held.map(() => [200, 'held']),
    );
    expect(await server.exit).toEqual([0, null]);
    expect(existsSync(sockets)).toBe(false);
  });

  test('twice ends everything at once', async () => {
    const server = await new Server({ source: { gate: '/nowhere' } }).started();
    const held = server.get('hold', true);
    await until(async () => {
      const open = await Promise.all([1, 2, 3, 4].map(() => server.body<number>('open')));
      return open.includes(1);
    }, 'it is accepted');
    process.kill(server.process.pid ?? 0, 'SIGTERM');
    await until(() => server.logs.length === 1, 'the first is noticed');
    process.kill(server.process.pid ?? 0, 'SIGTERM');
    expect(await server.exit).toEqual([143, null]);
    expect((await held).status).toBeUndefined();
    await until(() => !server.pids.some(isRunning), 'all are gone');
  });

  test('kills what does not end in time', async () => {
    const server = await new Server({
      source: { gate: '/nowhere' },
      shutdownTimeoutMs: 300,
      webProcesses: 1,
    }).started();
    const held = server.get('hold', true);
    await until(async () => (await server.body<number>('open')) === 1, 'it is accepted');
    process.kill(server.process.pid ?? 0, 'SIGTERM');
    expect(await server.exit).toEqual([1, null]);
    await held;
    expect(server.logs.join()).toContain('web process 0 did not end within 300 ms and was killed.');
    expect(server.pids.filter(isRunning)).toEqual([]);
  });
});

describe('SIGHUP', () => {
  test('brings new settings to the runners without a failed request', async () => {
    const server = await new Server().started();
    const load = new Load(server);
    await load.more(100);
    process.kill(server.process.pid ?? 0, 'SIGHUP');
    await until(async () => {
      const settings = await server.body<{ batching: { maxBatchSize: number } }>('settings');
      return settings.batching.maxBatchSize === 7;
    }, 'the runner has them');
    await load.more(100);
    await load.end();
    expect(Object.keys(load.statuses())).toEqual(['200']);
  });
});

describe('a start that cannot succeed ends the server with its reason:', () => {
  test.each([
    ['a runner that cannot be made', { source: { fails: 'throws' } }, 'doubler.onnx: no such file.'],
    [
      'a process that crashes',
      { source: { fails: 'crashes' } },
      'runner process doubler/0 was killed by SIGKILL before it was ready.',
    ],
  ])('%s', async (_, options, reason) => {
    const server = new Server(options);
    expect(await server.exit).toEqual([1, null]);
    expect(server.logs).toEqual([reason]);
  });

  test('a port that is taken', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as { port: number };
    const server = new Server({ port });
    expect(await server.exit).toEqual([1, null]);
    expect(server.logs).toEqual([expect.stringMatching(/EADDRINUSE/)]);
  });
});

describe('a supervisor that is killed', () => {
  test('leaves no process and no file behind', async () => {
    const server = await new Server({ replicas: 2 }).started();
    const sockets = await server.body<string>('folder');
    expect(server.pids.length).toBe(4);
    expect(server.pids.every(isRunning)).toBe(true);
    process.kill(server.process.pid ?? 0, 'SIGKILL');
    await until(() => !server.pids.some(isRunning), 'all are gone');
    await until(() => !existsSync(sockets), 'the folder is gone');
  });
});
