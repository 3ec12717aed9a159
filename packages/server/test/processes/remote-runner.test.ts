import { connect } from 'node:net';
import { join } from 'node:path';
import { type BatcherStats, BatchwiseError, VirtualClock } from 'batchwise';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WIRE } from '../../src/processes/wire-message.js';
import { RequestError } from '../../src/request-error.js';
import { frameOfMessages } from './support/frame-of.js';
import { GatedRunner, SETTINGS, TRACE } from './support/gated-runner.js';
import { RecordingSink } from './support/recording-sink.js';
import { connectedToRawHost, hostAt, remoteTo, socketFolder, stage } from './support/stage.js';
import { turns, until } from './support/until.js';

describe('a call', () => {
  test('comes back with its result and how it fared', async () => {
    const { runner, remote } = await stage();
    const sink = new RecordingSink();
    const item = {
      inputs: new Map([['x', { datatype: 'FP32', shape: [1, 2], data: new Float32Array([1, 2]) }]]),
    };
    remote.enqueue(item, sink, { timeoutMs: 1234, priority: 3, tenant: 'acme' });
    await until(() => runner.calls.length === 1);
    expect(runner.calls[0]).toMatchObject({
      item,
      options: { timeoutMs: 1234, priority: 3, tenant: 'acme' },
    });
    const result = new Map([['y', { datatype: 'INT64', shape: [1], data: new BigInt64Array([7n]) }]]);
    runner.calls[0]?.answer(result);
    await until(() => sink.settled > 0);
    expect(sink).toMatchObject({ results: [result], traces: [TRACE], errors: [] });
  });

  test('is answered before enqueue of the runner returns, too', async () => {
    const { runner, remote } = await stage();
    runner.onCall = (call) => call.answer(call.item);
    const sinks = Array.from({ length: 100 }, () => new RecordingSink());
    for (const [index, sink] of sinks.entries()) remote.enqueue(index, sink);
    await until(() => sinks.every(({ settled }) => settled > 0));
    expect(sinks.map(({ results }) => results)).toEqual(sinks.map((_, index) => [index]));
  });

  test('that cannot be sent fails alone, by the fault of the service', async () => {
    const { runner, remote } = await stage();
    runner.onCall = (call) => call.answer(call.item);
    const [before, odd, after] = [new RecordingSink(), new RecordingSink(), new RecordingSink()];
    remote.enqueue(1, before);
    remote.enqueue({ done: () => {} }, odd);
    remote.enqueue(2, after);
    await until(() => before.settled + odd.settled + after.settled === 3);
    expect([before.fate, odd.fate, after.fate]).toEqual(['ok', 'HANDLER_FAILED', 'ok']);
    expect(odd.errors[0]).toMatchObject({
      httpStatus: 500,
      message: 'digits: an item cannot be sent to the process of this runner: () => {} could not be cloned.',
    });
  });

  test('that is larger than a frame may be is refused alone', async () => {
    const { runner, remote } = await stage({ remote: { maxFrameBytes: 1000 } });
    runner.onCall = (call) => call.answer(1);
    const [large, small] = [new RecordingSink(), new RecordingSink()];
    remote.enqueue(Buffer.alloc(2000), large);
    remote.enqueue(1, small);
    await until(() => large.settled + small.settled === 2);
    expect([large.fate, small.fate]).toEqual(['INVALID_ITEM', 'ok']);
    expect(large.errors[0]?.message).toMatch(/it takes 20\d\d bytes, and a frame may have 1000\.$/);
  });

  test('whose result cannot be sent fails alone', async () => {
    const { runner, remote } = await stage();
    runner.onCall = (call) => call.answer(call.item === 1 ? { secret: () => {} } : call.item);
    const [odd, other] = [new RecordingSink(), new RecordingSink()];
    remote.enqueue(1, odd);
    remote.enqueue(2, other);
    await until(() => odd.settled + other.settled === 2);
    expect([odd.fate, other.fate]).toEqual(['BAD_RESULT', 'ok']);
    // A client reads the message, the log has the cause.
    expect(odd.errors[0]).toMatchObject({
      message: 'digits: a result cannot be sent from the process of this runner.',
      cause: { message: '() => {} could not be cloned.' },
    });
  });

  test('that is cancelled is over at once, and cancelled in the other process', async () => {
    const { runner, remote } = await stage();
    const sink = new RecordingSink();
    const ticket = remote.enqueue(1, sink);
    await until(() => runner.calls.length === 1);
    ticket.cancel('went home');
    expect(sink.errors[0]).toMatchObject({
      code: 'CANCELLED',
      message: 'digits: the call was cancelled: went home',
    });
    await until(() => runner.calls[0]?.isCancelled === true);
    ticket.cancel();
    await turns();
    expect(sink.settled).toBe(1);
  });

  test('that was answered and then cancelled keeps its answer', async () => {
    const { runner, remote } = await stage();
    runner.onCall = (call) => call.answer('done');
    const sink = new RecordingSink();
    const ticket = remote.enqueue(1, sink);
    await until(() => sink.settled === 1);
    ticket.cancel();
    await turns();
    expect(sink).toMatchObject({ results: ['done'], errors: [] });
    expect(runner.calls[0]?.isCancelled).toBe(false);
  });

  test('to a runner that throws gets what it threw', async () => {
    const { runner, remote } = await stage();
    runner.onCall = () => {
      throw new BatchwiseError('INVALID_OPTION', 'priority: expected a number.');
    };
    const sink = new RecordingSink();
    remote.enqueue(1, sink);
    await until(() => sink.settled === 1);
    expect(sink.errors[0]).toMatchObject({ code: 'INVALID_OPTION', message: 'priority: expected a number.' });
  });
});

describe('an error', () => {
  async function crossed(error: Error): Promise<Error | undefined> {
    const { runner, remote } = await stage();
    runner.onCall = (call) => call.fail(error);
    const sink = new RecordingSink();
    remote.enqueue(1, sink);
    await until(() => sink.settled === 1);
    return sink.errors[0];
  }

  test('of the batcher is itself again', async () => {
    const cause = new TypeError('x is not a function');
    const error = await crossed(new BatchwiseError('OVERLOADED', 'too late', { retryAfterMs: 70, cause }));
    expect(error).toBeInstanceOf(BatchwiseError);
    expect(error).toMatchObject({
      code: 'OVERLOADED',
      message: 'too late',
      retryAfterMs: 70,
      httpStatus: 429,
    });
    expect(error?.cause).toMatchObject({ name: 'TypeError', message: 'x is not a function' });
  });

  test('of a request is itself again', async () => {
    const error = await crossed(
      new RequestError('BAD_REQUEST', 'expected 64 values, got 3', {
        where: 'inputs[0]',
        headers: { a: 'b' },
      }),
    );
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({
      message: 'inputs[0]: expected 64 values, got 3',
      where: 'inputs[0]',
      headers: { a: 'b' },
      httpStatus: 400,
    });
  });

  test('of any other kind keeps its name and message, and leaves its stack behind', async () => {
    const thrown = new RangeError('too far');
    thrown.stack = 'RangeError: too far\n    at secret.ts:1:1';
    const error = await crossed(thrown);
    expect(error).toMatchObject({ name: 'RangeError', message: 'too far' });
    expect(error?.stack).not.toContain('secret');
  });

  test('with a ring of causes arrives', async () => {
    const ring = new Error('ring');
    ring.cause = ring;
    expect(await crossed(ring)).toMatchObject({ message: 'ring' });
  });

  test('named like ours with a code that is not ours is any other error', async () => {
    const odd = Object.assign(new Error('odd'), { code: '__proto__' });
    odd.name = 'BatchwiseError';
    const error = await crossed(odd);
    expect(error).not.toBeInstanceOf(BatchwiseError);
    expect(error?.message).toBe('odd');
  });
});

describe('a runner', () => {
  test('is ready, and known, when its process says so', async () => {
    const socket = join(socketFolder(), '0.sock');
    const { runner } = await hostAt(socket, new GatedRunner('digits', false));
    const remote = remoteTo([socket]);
    await until(() => remote.platform === 'gated');
    expect(remote).toMatchObject({ state: 'loading', kind: 'model', signature: undefined });
    const early = new RecordingSink();
    remote.enqueue(1, early);
    expect(early.fate).toBe('UNAVAILABLE');
    runner.becomeReady();
    await remote.ready;
    expect(remote).toMatchObject({ state: 'ready', signature: runner.signature });
    expect(remote.stats()).toBeUndefined();
  });

  test('has failed, with the reason, when its process says so', async () => {
    const socket = join(socketFolder(), '0.sock');
    const { runner } = await hostAt(socket, new GatedRunner('digits', false));
    const remote = remoteTo([socket]);
    runner.becomeFailed(new BatchwiseError('INVALID_OPTION', 'digits.onnx: no such file.'));
    await expect(remote.ready).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: 'digits.onnx: no such file.',
    });
    expect(remote.state).toBe('failed');
  });

  test('is found when its process starts later', async () => {
    const socket = join(socketFolder(), '0.sock');
    const remote = remoteTo([socket]);
    await turns();
    await hostAt(socket);
    await remote.ready;
  });

  test('tells of each change of its state: ready, lost, back, closed', async () => {
    const socket = join(socketFolder(), '0.sock');
    const remote = remoteTo([socket]);
    const states: string[] = [];
    remote.onStateChange(() => states.push(remote.state));
    const stopped = remote.onStateChange(() => states.push('told after all'));
    stopped();
    const { host } = await hostAt(socket);
    await until(() => remote.state === 'ready');
    await host.close();
    await until(() => remote.state === 'loading');
    await hostAt(socket);
    await until(() => remote.state === 'ready');
    await remote.close();
    expect(states).toEqual(['ready', 'loading', 'ready', 'closed']);
  });

  test('says when all of its replicas are ready, not only the first', async () => {
    const folder = socketFolder();
    const sockets = [0, 1].map((replica) => join(folder, `${replica}.sock`));
    const remote = remoteTo(sockets);
    let areReady = false;
    const all = remote.allReady().then(() => {
      areReady = true;
    });
    await hostAt(sockets[0] as string);
    await remote.ready;
    await turns();
    expect(areReady).toBe(false);
    await hostAt(sockets[1] as string);
    await all;
    expect(remote.readyReplicas).toBe(2);
    await remote.allReady();
  });

  test('that is closed keeps nobody waiting for its replicas', async () => {
    const remote = remoteTo([join(socketFolder(), '0.sock')]);
    const all = remote.allReady();
    await remote.close();
    await all;
  });

  test('of which one of two replicas is lost is as ready as before', async () => {
    const folder = socketFolder();
    const sockets = [0, 1].map((replica) => join(folder, `${replica}.sock`));
    const [first] = await Promise.all(sockets.map((socket) => hostAt(socket)));
    const remote = remoteTo(sockets);
    await until(() => remote.readyReplicas === 2);
    const states: string[] = [];
    remote.onStateChange(() => states.push(remote.state));
    await first?.host.close();
    await until(() => remote.readyReplicas === 1);
    expect([remote.state, states]).toEqual(['ready', []]);
  });

  test('tells what is known of it before it can be reached', () => {
    const known = {
      kind: 'model',
      platform: 'onnxruntime_onnx',
      signature: { inputs: [], outputs: [] },
    } as const;
    const remote = remoteTo([join(socketFolder(), '0.sock')], { known });
    expect(remote).toMatchObject({ ...known, state: 'loading' });
  });

  test('takes over new settings in its own process, also in one that starts anew', async () => {
    const { runner, remote, host, socket } = await stage();
    const settings = { ...SETTINGS, timeoutMs: Number.POSITIVE_INFINITY };
    remote.configure(settings);
    await until(() => runner.configured.length === 1);
    expect(runner.configured).toEqual([settings]);
    await host.close();
    const again = await hostAt(socket);
    await until(() => again.runner.configured.length === 1);
  });

  test('that is not the one that a process holds is unavailable', async () => {
    const socket = join(socketFolder(), '0.sock');
    await hostAt(socket, new GatedRunner('iris'));
    const remote = remoteTo([socket]);
    await turns();
    expect(remote.state).toBe('loading');
  });
});

describe('a lost connection', () => {
  test('rejects at once what it held, and the next calls find the process that comes back', async () => {
    const { runner, remote, host, socket } = await stage();
    const sinks = Array.from({ length: 5 }, () => new RecordingSink());
    for (const sink of sinks) remote.enqueue(1, sink);
    await until(() => runner.calls.length === 5);
    await host.close();
    await until(() => sinks.every(({ settled }) => settled > 0));
    expect(sinks.map(({ fate }) => fate)).toEqual(sinks.map(() => 'UNAVAILABLE'));
    expect(sinks[0]?.errors[0]).toMatchObject({ retryable: true });
    const refused = new RecordingSink();
    remote.enqueue(1, refused);
    expect(refused.fate).toBe('UNAVAILABLE');
    for (const call of runner.calls) call.answer('too late');

    const again = await hostAt(socket);
    again.runner.onCall = (call) => call.answer('back');
    await until(() => remote.state === 'ready');
    const sink = new RecordingSink();
    remote.enqueue(1, sink);
    await until(() => sink.settled === 1);
    expect(sink.results).toEqual(['back']);
    expect(sinks.map(({ settled }) => settled)).toEqual([1, 1, 1, 1, 1]);
  });

  test('cancels in the runner what its web process had asked for', async () => {
    const { runner, remote, socket } = await stage();
    const web = connect(socket);
    web.write(
      frameOfMessages([WIRE.call, 1, 'digits', 'a', undefined], [WIRE.call, 2, 'digits', 'b', undefined]),
    );
    const other = new RecordingSink();
    await until(() => runner.calls.length === 2);
    remote.enqueue('c', other);
    await until(() => runner.calls.length === 3);
    web.destroy();
    await until(() => runner.calls[0]?.isCancelled === true);
    expect(runner.calls.map(({ isCancelled }) => isCancelled)).toEqual([true, true, false]);
    runner.calls[2]?.answer('mine');
    await until(() => other.settled === 1);
  });

  test('that is closed with calls in it tells them, and the runner', async () => {
    const { runner, remote } = await stage();
    const sink = new RecordingSink();
    remote.enqueue(1, sink);
    await until(() => runner.calls.length === 1);
    await remote.close({ timeoutMs: 0 });
    expect(sink.fate).toBe('CLOSED');
    await until(() => runner.calls[0]?.isCancelled === true);
  });

  test.each([
    ['garbage', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['half a frame and the end', Buffer.from([9, 0, 0, 0, 1, 2])],
  ])('by %s fails the calls with the reason', async (_, bytes) => {
    const { connections, remote } = await connectedToRawHost();
    const sink = new RecordingSink();
    remote.enqueue(1, sink);
    connections[0]?.end(bytes);
    await until(() => sink.settled === 1);
    expect(sink.fate).toBe('UNAVAILABLE');
    const cause = sink.errors[0]?.cause as Error;
    expect(cause.message).toMatch(/^The connection between two processes is broken: /);
    await until(() => connections.length === 2, 'it connects again');
  });

  test('by garbage from a web process leaves the others alone', async () => {
    const faults: string[] = [];
    const { socket, runner, remote } = await stage({
      host: { onFault: (error) => faults.push(error.message) },
    });
    const sink = new RecordingSink();
    remote.enqueue(1, sink);
    await until(() => runner.calls.length === 1);
    const stranger = connect(socket);
    const isGone = new Promise((resolve) => stranger.on('close', resolve));
    stranger.on('error', () => {}).end(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    stranger.resume();
    await isGone;
    runner.calls[0]?.answer('fine');
    await until(() => sink.settled === 1);
    expect(sink.results).toEqual(['fine']);
    expect(faults).toEqual([expect.stringContaining('expected a frame of 1 to')]);
  });
});

describe('a process that hangs', () => {
  test('does not keep its callers longer than their time-out', async () => {
    const clock = new VirtualClock();
    const { remote } = await connectedToRawHost({ clock, settings: { timeoutMs: 10_000 } });
    const [own, runners, odd] = [new RecordingSink(), new RecordingSink(), new RecordingSink()];
    remote.enqueue(1, runners);
    remote.enqueue(1, own, { timeoutMs: 200 });
    remote.enqueue(1, odd, { timeoutMs: Number.NaN });
    await clock.advance(199);
    expect([own.fate, runners.fate]).toEqual(['pending', 'pending']);
    await clock.advance(600);
    expect([own.fate, runners.fate]).toEqual(['DEADLINE_EXCEEDED', 'pending']);
    await clock.advance(10_000);
    expect([own.fate, runners.fate, odd.fate]).toEqual(['DEADLINE_EXCEEDED', 'DEADLINE_EXCEEDED', 'pending']);
    await remote.close({ timeoutMs: 0 });
    expect(clock.pendingTimers).toBe(0);
  });

  test('gets no more calls than its connection may hold', async () => {
    const { remote } = await connectedToRawHost({ maxBacklogBytes: 10_000 });
    const sinks: RecordingSink[] = [];
    while (sinks.at(-1)?.fate !== 'OVERLOADED' && sinks.length < 1000) {
      const sink = new RecordingSink();
      sinks.push(sink);
      remote.enqueue(new Uint8Array(100_000), sink);
      await turns(1);
    }
    expect(sinks.at(-1)?.errors[0]).toMatchObject({ code: 'OVERLOADED', retryAfterMs: 100 });
    expect(sinks.length).toBeLessThan(100);
  });
});

describe('closing', () => {
  test('waits for the calls and refuses new ones', async () => {
    const { runner, remote } = await stage();
    const sink = new RecordingSink();
    remote.enqueue(1, sink);
    await until(() => runner.calls.length === 1);
    let isClosed = false;
    const closing = remote.close().then(() => {
      isClosed = true;
    });
    const late = new RecordingSink();
    remote.enqueue(2, late);
    expect(late.fate).toBe('CLOSED');
    expect(remote.state).toBe('closed');
    await turns();
    expect(isClosed).toBe(false);
    runner.calls[0]?.answer('in time');
    await closing;
    expect(sink.results).toEqual(['in time']);
  });

  test('before it was ever ready rejects ready', async () => {
    const remote = remoteTo([join(socketFolder(), '0.sock')]);
    await remote.close();
    await expect(remote.ready).rejects.toMatchObject({ code: 'CLOSED' });
  });
});

describe('several replicas', () => {
  const stats = (queuedCost: number, durationMs: number) =>
    ({
      queued: queuedCost,
      queuedCost,
      running: 0,
      batchesRunning: 0,
      curve: [
        { cost: 1, durationMs },
        { cost: 100, durationMs: durationMs * 10 },
      ],
    }) as unknown as BatcherStats;

  async function twoReplicas() {
    const folder = socketFolder();
    const sockets = ['0.sock', '1.sock'].map((name) => join(folder, name));
    const hosts = await Promise.all(sockets.map((socket) => hostAt(socket)));
    const remote = remoteTo(sockets);
    const [first, second] = hosts.map(({ runner }) => runner) as [GatedRunner, GatedRunner];
    return { folder, sockets, hosts, remote, first, second };
  }

  test('share the calls of one turn', async () => {
    const { remote, first, second } = await twoReplicas();
    await until(() => remote.readyReplicas === 2);
    for (let call = 0; call < 40; call += 1) remote.enqueue(call, new RecordingSink());
    await until(() => first.calls.length + second.calls.length === 40);
    expect(Math.abs(first.calls.length - second.calls.length)).toBeLessThanOrEqual(6);
  });

  test('get calls by who is expected to answer first', async () => {
    const { remote, first, second } = await twoReplicas();
    await until(() => remote.readyReplicas === 2);
    first.currentStats = stats(10_000, 1000);
    second.currentStats = stats(0, 1);
    for (const runner of [first, second]) runner.onCall = (call) => call.answer(1);
    // Both tell their load with their answers.
    const sinks = Array.from({ length: 20 }, () => new RecordingSink());
    for (const sink of sinks) remote.enqueue(1, sink);
    await until(() => sinks.every(({ settled }) => settled === 1));
    await until(() => first.calls.length > 0 && second.calls.length > 0);
    first.calls.length = 0;
    second.calls.length = 0;
    for (let round = 0; round < 10; round += 1) {
      const sink = new RecordingSink();
      remote.enqueue(1, sink);
      await until(() => sink.settled === 1);
    }
    expect([first.calls.length, second.calls.length]).toEqual([0, 10]);
  });

  test('stand in for each other', async () => {
    const { remote, first, second, hosts } = await twoReplicas();
    await until(() => remote.readyReplicas === 2);
    const sinks = Array.from({ length: 20 }, () => new RecordingSink());
    for (const sink of sinks) remote.enqueue(1, sink);
    await until(() => first.calls.length + second.calls.length === 20);
    await hosts[0]?.host.close();
    await until(() => sinks.filter(({ settled }) => settled === 1).length === first.calls.length);
    for (const call of second.calls) call.answer('mine');
    await until(() => sinks.every(({ settled }) => settled === 1));
    expect(sinks.filter(({ fate }) => fate === 'ok').length).toBe(second.calls.length);
    expect(remote.state).toBe('ready');
    second.onCall = (call) => call.answer('all mine');
    const next = Array.from({ length: 20 }, () => new RecordingSink());
    for (const sink of next) remote.enqueue(1, sink);
    await until(() => next.every(({ settled }) => settled === 1));
    expect(next.map(({ fate }) => fate)).toEqual(next.map(() => 'ok'));
  });
});

describe('a web process that does not fetch its answers', () => {
  test('is not read from until it does', async () => {
    const { socket, runner } = await stage({ host: { maxBacklogBytes: 100_000 } });
    runner.onCall = (call) => call.answer(new Uint8Array(100_000));
    const lazy = connect(socket);
    onTestFinished(() => void lazy.destroy());
    lazy.pause();
    let asked = 0;
    // Until the system's own buffers are full as well.
    while (lazy.writableLength === 0 && asked < 100_000) {
      for (let call = 0; call < 100; call += 1) {
        asked += 1;
        lazy.write(frameOfMessages([WIRE.call, asked, 'digits', 'x'.repeat(1000), undefined]));
      }
      await turns(5);
    }
    await turns(50);
    expect(runner.calls.length).toBeLessThan(asked);
    lazy.resume();
    await until(() => runner.calls.length === asked);
  });
});
