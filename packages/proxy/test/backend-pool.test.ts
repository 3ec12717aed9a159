/** Backends that come and go, fail and recover, and who gets which meanwhile. */
import { STATUS } from '@batchwise/grpc';
import { describe, expect, it } from 'vitest';
import { FakeStage } from './fakes/fake-stage.js';

const failing = { message: 'lost', trailers: { 'grpc-status': '14' } };

/** Sends one call, and says where it went. */
async function sendOne(stage: FakeStage, text = 'x') {
  const before = new Map([...stage.channels.values()].map((channel) => [channel, channel.calls.length]));
  const caller = stage.calls(text);
  await stage.settle();
  const channel = [...stage.channels.values()].find(
    ({ calls }, i) => calls.length > ([...before.values()][i] ?? 0),
  );
  return { caller, target: channel?.target, stream: channel?.calls.at(-1) };
}

describe('a backend', () => {
  it('that is not connected gets nothing while another is', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], isConnected: false });
    stage.channel('b:1').become('ready');
    for (let i = 0; i < 4; i++) {
      const { target, stream } = await sendOne(stage);
      expect(target).toBe('b:1');
      stream?.echoes();
    }
  });

  it('that could not be reached is not waited for while it is tried again', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], isConnected: false });
    stage.channel('a:1').become('failing', new Error('ECONNREFUSED'));
    stage.channel('a:1').become('connecting');
    for (let i = 0; i < 4; i++) {
      const { target, stream } = await sendOne(stage);
      expect(target).toBe('b:1');
      stream?.echoes();
    }
  });

  it('that fails time after time is left out for a while, and the log says so', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], ejection: { failures: 2, durationMs: 100 } });
    const targets: (string | undefined)[] = [];
    for (let i = 0; i < 20; i++) {
      const { target, stream } = await sendOne(stage);
      targets.push(target);
      if (target === 'a:1') stream?.ends(STATUS.UNAVAILABLE, failing);
      else stream?.echoes();
    }
    expect(targets.filter((target) => target === 'a:1')).toHaveLength(2);
    expect(stage.log).toContain('backend a:1 is left out for 100 ms: 2 failures in a row');
    expect(stage.pool.capacity).toBe(1);
    await stage.clock.advance(100);
    expect(stage.pool.capacity).toBe(2);
    expect(stage.clock.pendingTimers).toBeLessThanOrEqual(1);
  });

  it('that is the last is used all the same, however often it fails', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], ejection: { failures: 1, durationMs: 1000 } });
    for (let i = 0; i < 20; i++) {
      const { target, stream, caller } = await sendOne(stage);
      expect(target).toBeDefined();
      stream?.ends(STATUS.UNAVAILABLE, failing);
      expect(caller.heard?.status).toBe(STATUS.UNAVAILABLE);
    }
  });

  it('that says no to what was asked is not at fault', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], ejection: { failures: 1, durationMs: 1000 } });
    for (const status of [STATUS.INVALID_ARGUMENT, STATUS.INTERNAL, STATUS.RESOURCE_EXHAUSTED]) {
      const { stream } = await sendOne(stage);
      stream?.ends(status, { trailers: { 'grpc-status': String(status) } });
      expect(stage.pool.capacity).toBe(2);
    }
  });

  it('that a call could not be sent to, for what the call was, is not at fault', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], ejection: { failures: 1, durationMs: 1000 } });
    (await sendOne(stage)).stream?.ends(STATUS.INTERNAL, { message: 'cannot be sent', isUnseen: true });
    expect(stage.pool.capacity).toBe(2);
  });

  // Those that nobody was connected to were thought to be the quickest: nothing was known of them.
  it('that is bad but connected goes before those that cannot be reached', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1', 'c:1'] });
    const [, b] = stage.pool.backends;
    Object.assign(b as object, { isHealthy: false });
    for (const target of ['a:1', 'c:1']) stage.channel(target).become('failing', new Error('ECONNREFUSED'));
    for (let i = 0; i < 4; i++) {
      const { target, stream } = await sendOne(stage);
      expect(target).toBe('b:1');
      stream?.echoes();
    }
    expect(stage.pool.forCall()?.target).toBe('b:1');
  });

  it('that talks no gRPC is at fault', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], ejection: { failures: 1, durationMs: 1000 } });
    (await sendOne(stage)).stream?.ends(STATUS.INTERNAL, { message: 'a flag there is not' });
    expect(stage.pool.capacity).toBe(1);
  });

  it('that is found unwell gets nothing, and all of it again when it is well', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'] });
    const [a] = stage.pool.backends;
    Object.assign(a as object, { isHealthy: false });
    stage.pool.update();
    expect(stage.pool.capacity).toBe(1);
    expect((await sendOne(stage)).target).toBe('b:1');
    Object.assign(a as object, { isHealthy: true });
    stage.pool.update();
    expect((await sendOne(stage)).target).toBe('a:1');
  });

  it('that is quicker gets more', async () => {
    const stage = new FakeStage({ targets: ['quick:1', 'slow:1'] });
    const counts = { 'quick:1': 0, 'slow:1': 0 } as Record<string, number>;
    for (let i = 0; i < 40; i++) {
      const { target = '', stream } = await sendOne(stage);
      counts[target] = (counts[target] ?? 0) + 1;
      await stage.clock.advance(target === 'quick:1' ? 5 : 50);
      stream?.echoes();
    }
    expect(counts['slow:1']).toBeGreaterThan(0);
    expect(counts['slow:1']).toBeLessThan(5);
  });

  it('that was slow once is asked again after a while', async () => {
    const stage = new FakeStage({ targets: ['quick:1', 'slow:1'] });
    const seen = new Set<string | undefined>();
    for (let i = 0; i < 6; i++) {
      const { target, stream } = await sendOne(stage);
      await stage.clock.advance(target === 'quick:1' ? 5 : 50);
      stream?.echoes();
    }
    await stage.clock.advance(11_000);
    for (let i = 0; i < 2; i++) {
      const { target, stream } = await sendOne(stage);
      seen.add(target);
      stream?.echoes();
    }
    expect(seen).toEqual(new Set(['quick:1', 'slow:1']));
  });
});

it('a backend that hangs and is left out does not hold up the others', async () => {
  // The batcher counts what runs anywhere: with two backends and one of them hanging, no slot was left.
  const stage = new FakeStage({ targets: ['a:1', 'b:1'] });
  const { target } = await sendOne(stage);
  const hanging = stage.pool.backends.find((backend) => backend.target === target);
  Object.assign(hanging as object, { isHealthy: false });
  stage.pool.update();
  for (let i = 0; i < 3; i++) {
    const { target: other, stream } = await sendOne(stage);
    expect(other).not.toBe(target);
    stream?.echoes();
  }
  expect(stage.pool.capacity).toBe(2);
  stage.channel(target).open[0]?.echoes();
  expect(stage.pool.capacity).toBe(1);
});

/** A batch that no backend has begun waited for another backend than the one that had refused it, and all with it. */
describe('a batch that is sent again', () => {
  async function setting() {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'] });
    const hanging = await sendOne(stage, 'hangs');
    const refused = await sendOne(stage, 'refused');
    expect(new Set([hanging.target, refused.target])).toEqual(new Set(['a:1', 'b:1']));
    refused.stream?.ends(STATUS.UNAVAILABLE, { isUnseen: true });
    await stage.settle();
    return { stage, hanging, refused };
  }

  it('goes to the same backend when no other is free', async () => {
    const { stage, refused } = await setting();
    const again = stage.channel(refused.target).open[0];
    expect(again?.texts).toEqual(['refused']);
    again?.echoes();
    expect(refused.caller.heard?.status).toBe(STATUS.OK);
  });

  it('goes to another when one is free, though it is slower', async () => {
    const stage = new FakeStage({ targets: ['quick:1', 'slow:1'] });
    for (let i = 0; i < 8; i++) {
      const { target, stream } = await sendOne(stage);
      await stage.clock.advance(target === 'quick:1' ? 5 : 50);
      stream?.echoes();
    }
    const { target, stream } = await sendOne(stage);
    expect(target).toBe('quick:1');
    stream?.ends(STATUS.UNAVAILABLE, { isUnseen: true });
    await stage.settle();
    expect(stage.channel('quick:1').open).toEqual([]);
    expect(stage.channel('slow:1').open).toHaveLength(1);
  });

  it('and holds up no other method', async () => {
    const { stage, refused } = await setting();
    const other = stage.calls('other', { path: '/pkg.Other/Compute' });
    stage.channel(refused.target).open[0]?.echoes();
    await stage.settle();
    stage.channel(refused.target).open[0]?.echoes();
    expect(other.heard?.status).toBe(STATUS.OK);
  });
});

it('a batch that no longer waits for a backend lets the next one have it', () => {
  const stage = new FakeStage({ targets: ['a:1'], maxBatchesInFlight: 1 });
  const granted: string[] = [];
  stage.pool.acquire(1, undefined, (backend) => backend?.begin(1, 0));
  const giveUp = stage.pool.acquire(1, undefined, () => granted.push('first'));
  stage.pool.acquire(1, undefined, () => granted.push('second'));
  expect(stage.pool.freePermits).toBe(0);
  giveUp();
  const [backend] = stage.pool.backends;
  for (const work of backend?.running ?? []) backend?.end(work);
  if (backend !== undefined) stage.pool.released(backend);
  expect(granted).toEqual(['second']);
});

describe('targets that change', () => {
  it('new ones are used, old ones finish what they have and are closed', async () => {
    const stage = new FakeStage({ targets: ['a:1'] });
    const { caller, stream } = await sendOne(stage);
    const old = stage.channel('a:1');
    stage.pool.setTargets([{ target: 'b:1' }]);
    stage.channel('b:1').become('ready');
    expect(old.isClosed).toBe(true);
    expect((await sendOne(stage)).target).toBe('b:1');
    stream?.echoes();
    expect(caller.heard?.text).toBe('X');
  });

  it('those that stay keep their channel', () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'] });
    const [a] = stage.pool.backends;
    stage.pool.setTargets([{ target: 'c:1' }, { target: 'a:1' }]);
    expect(stage.pool.backends.map(({ target }) => target)).toEqual(['c:1', 'a:1']);
    expect(stage.pool.backends[1]).toBe(a);
  });

  it('when none are left, calls that wait fail, and the operator is told why', async () => {
    const stage = new FakeStage({ targets: ['a:1'] });
    await sendOne(stage);
    const waiting = stage.calls('waits');
    await stage.settle();
    stage.pool.setTargets([], new Error('dns:///a:1 cannot be looked up: ENOTFOUND'));
    await stage.settle();
    stage.channel('a:1').open[0]?.echoes();
    await stage.settle();
    expect(waiting.heard?.status).toBe(STATUS.UNAVAILABLE);
    expect(waiting.heard?.error?.message).toBe('The backend is unavailable.');
    expect(stage.pool.whyDown).toBe('no backend can be reached: dns:///a:1 cannot be looked up: ENOTFOUND');
  });
});

describe('a connection', () => {
  it('that goes idle is made again', () => {
    const stage = new FakeStage();
    stage.channel().become('idle');
    expect(stage.channel().state).toBe('connecting');
  });

  it('that cannot be made is mentioned once, however often it is tried', () => {
    const stage = new FakeStage();
    for (let i = 0; i < 3; i++) {
      stage.channel().become('failing', new Error('ECONNREFUSED'));
      stage.channel().become('connecting');
    }
    stage.channel().become('ready');
    stage.channel().become('failing', new Error('ECONNRESET'));
    expect(stage.log).toEqual([
      'backend a:1 is connected',
      'backend a:1 cannot be reached: ECONNREFUSED',
      'backend a:1 is connected',
      'backend a:1 cannot be reached: ECONNRESET',
    ]);
  });
});

describe('the first connection', () => {
  const waiting = (targets: readonly string[]) => {
    const stage = new FakeStage({ targets, isConnected: false });
    const state = { isOver: false };
    void stage.pool.whenTried(1000).then(() => {
      state.isOver = true;
    });
    return { stage, state };
  };

  it('is waited for until one backend is ready', async () => {
    const { stage, state } = waiting(['a:1', 'b:1']);
    await stage.clock.advance(500);
    expect(state.isOver).toBe(false);
    stage.channel('b:1').become('ready');
    await stage.settle();
    expect(state.isOver).toBe(true);
    expect(stage.clock.pendingTimers).toBe(0);
  });

  it('is not waited for any more when none can be reached', async () => {
    const { stage, state } = waiting(['a:1', 'b:1']);
    stage.channel('a:1').become('failing', new Error('ECONNREFUSED'));
    await stage.settle();
    expect(state.isOver).toBe(false);
    stage.channel('b:1').become('failing', new Error('ECONNREFUSED'));
    await stage.settle();
    expect(state.isOver).toBe(true);
  });

  it('is waited for only so long', async () => {
    const { stage, state } = waiting(['a:1']);
    await stage.clock.advance(1000);
    expect(state.isOver).toBe(true);
  });
});
