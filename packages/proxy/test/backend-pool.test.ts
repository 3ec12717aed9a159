/** Backends that connect, fail, recover and change, and the choice of a backend meanwhile. */
import { STATUS } from '@batchwise/grpc';
import { describe, expect, it } from 'vitest';
import { FakeStage } from './fakes/fake-stage.js';

const failing = { message: 'lost', trailers: { 'grpc-status': '14' } };

/** Sends one call and returns the backend that received it. */
async function sendOne(stage: FakeStage, text = 'x') {
  const before = new Map([...stage.channels.values()].map((channel) => [channel, channel.calls.length]));
  const caller = stage.calls(text);
  await stage.settle();
  const channel = [...stage.channels.values()].find(
    ({ calls }, i) => calls.length > ([...before.values()][i] ?? 0),
  );
  return { caller, target: channel?.target, stream: channel?.calls.at(-1) };
}

const backendOf = (stage: FakeStage, target: string) => {
  const backend = stage.pool.backends.find(({ id }) => id === target);
  if (backend === undefined) throw new Error(`expected a backend ${target}, found none`);
  return backend;
};

describe('a backend', () => {
  it('that is not connected gets no batch while another is', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], isConnected: false });
    stage.channel('b:1').become('ready');
    for (let i = 0; i < 4; i++) {
      const { target, stream } = await sendOne(stage);
      expect(target).toBe('b:1');
      stream?.echoes();
    }
  });

  it('that failed to connect gets no batch while another is connecting', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], isConnected: false });
    stage.channel('a:1').become('failing', new Error('ECONNREFUSED'));
    stage.channel('a:1').become('connecting');
    for (let i = 0; i < 4; i++) {
      const { target, stream } = await sendOne(stage);
      expect(target).toBe('b:1');
      stream?.echoes();
    }
  });

  it('with consecutive failures is ejected, logged, and used again after a successful trial', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], ejection: { failures: 2, durationMs: 3000 } });
    let failures = 0;
    for (let i = 0; i < 10 && failures < 2; i++) {
      const { target, stream } = await sendOne(stage);
      if (target === 'a:1') {
        stream?.ends(STATUS.UNAVAILABLE, failing);
        failures += 1;
      } else stream?.echoes();
      // After a single failure a backend is avoided for a while.
      if (failures < 2) await stage.clock.advance(3000);
    }
    await stage.settle();
    expect(stage.log).toContain('backend a:1 is ejected for 3000 ms because its batches fail');
    expect(stage.pool.stateOf(backendOf(stage, 'a:1'))).toMatchObject({ isUp: false, isEjected: true });
    expect(stage.pool.set.slots).toBe(1);
    await stage.clock.advance(3000);
    const trial = await sendOne(stage);
    expect(trial.target).toBe('a:1');
    trial.stream?.echoes();
    await stage.settle();
    expect(stage.log.at(-1)).toBe('backend a:1 is no longer ejected');
    expect(stage.pool.set.slots).toBe(2);
    expect(stage.clock.pendingTimers).toBeLessThanOrEqual(1);
  });

  it('that is the last one gets batches however often it fails', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], ejection: { failures: 1, durationMs: 1000 } });
    for (let i = 0; i < 20; i++) {
      const { target, stream, caller } = await sendOne(stage);
      expect(target).toBeDefined();
      stream?.ends(STATUS.UNAVAILABLE, failing);
      await stage.settle();
      expect(caller.outcome?.status).toBe(STATUS.UNAVAILABLE);
    }
  });

  it('is not ejected for errors about the items', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], ejection: { failures: 1, durationMs: 1000 } });
    for (const status of [STATUS.INVALID_ARGUMENT, STATUS.INTERNAL, STATUS.RESOURCE_EXHAUSTED]) {
      const { stream } = await sendOne(stage);
      stream?.ends(status, { trailers: { 'grpc-status': String(status) } });
      await stage.settle();
      expect(stage.pool.set.slots).toBe(2);
    }
  });

  it('is not ejected for a call that cannot be sent', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], ejection: { failures: 1, durationMs: 1000 } });
    (await sendOne(stage)).stream?.ends(STATUS.INTERNAL, { message: 'cannot be sent', isUnseen: true });
    await stage.settle();
    expect(stage.pool.set.slots).toBe(2);
  });

  // Root cause: a backend without a connection had no service curve, so it was expected to be the fastest.
  it('that is unhealthy but connected is preferred to unreachable ones', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1', 'c:1'] });
    stage.pool.setHealthy(backendOf(stage, 'b:1'), false);
    for (const target of ['a:1', 'c:1']) stage.channel(target).become('failing', new Error('ECONNREFUSED'));
    for (let i = 0; i < 4; i++) {
      const { target, stream } = await sendOne(stage);
      expect(target).toBe('b:1');
      stream?.echoes();
    }
    expect(stage.pool.forCall()?.target).toBe('b:1');
  });

  it('that does not speak gRPC is ejected', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], ejection: { failures: 1, durationMs: 1000 } });
    (await sendOne(stage)).stream?.ends(STATUS.INTERNAL, { message: 'an unknown flag' });
    await stage.settle();
    expect(stage.pool.set.slots).toBe(1);
  });

  it('that is unhealthy gets no batches until it is healthy', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'] });
    const a = backendOf(stage, 'a:1');
    stage.pool.setHealthy(a, false);
    expect(stage.pool.set.slots).toBe(1);
    expect((await sendOne(stage)).target).toBe('b:1');
    stage.pool.setHealthy(a, true);
    expect((await sendOne(stage)).target).toBe('a:1');
  });

  it('that is ejected is used again after a successful health check', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'], ejection: { failures: 1, durationMs: 60_000 } });
    const { target = '', stream } = await sendOne(stage);
    stream?.ends(STATUS.UNAVAILABLE, failing);
    await stage.settle();
    expect(stage.pool.set.slots).toBe(1);
    stage.pool.setHealthy(backendOf(stage, target), true);
    expect(stage.pool.set.slots).toBe(2);
  });

  it('that is faster gets more batches', async () => {
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

  it('that was slow is measured again after a while', async () => {
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

it('a batch that hangs at an unhealthy backend does not block the others', async () => {
  // Root cause: the batch counted towards the in-flight limit, and with two backends no slot was free.
  const stage = new FakeStage({ targets: ['a:1', 'b:1'] });
  const { target = '' } = await sendOne(stage);
  stage.pool.setHealthy(backendOf(stage, target), false);
  for (let i = 0; i < 3; i++) {
    const { target: other, stream } = await sendOne(stage);
    expect(other).not.toBe(target);
    stream?.echoes();
  }
});

// Root cause: a batch that was not started waited for a backend other than the first one and blocked all other batches.
describe('a batch that is retried', () => {
  async function setting() {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'] });
    const hanging = await sendOne(stage, 'hangs');
    const refused = await sendOne(stage, 'refused');
    expect(new Set([hanging.target, refused.target])).toEqual(new Set(['a:1', 'b:1']));
    refused.stream?.ends(STATUS.UNAVAILABLE, { isUnseen: true });
    await stage.settle();
    return { stage, hanging, refused };
  }

  it('goes to the same backend if no other is free', async () => {
    const { stage, refused } = await setting();
    const again = stage.channel(refused.target).open[0];
    expect(again?.texts).toEqual(['refused']);
    again?.echoes();
    expect(refused.caller.outcome?.status).toBe(STATUS.OK);
  });

  it('goes to another backend if one is free, although it is slower', async () => {
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

  it('does not block another method', async () => {
    const { stage, refused } = await setting();
    const other = stage.calls('other', { path: '/pkg.Other/Compute' });
    stage.channel(refused.target).open[0]?.echoes();
    await stage.settle();
    stage.channel(refused.target).open[0]?.echoes();
    expect(other.outcome?.status).toBe(STATUS.OK);
  });

  it('keeps the place and the account of its tenant', async () => {
    const { stage, refused } = await setting();
    const { tenant } = { tenant: stage.tenants.of(refused.caller) };
    expect(tenant.queuedGroups).toBe(0);
    stage.channel(refused.target).open[0]?.ends(STATUS.UNAVAILABLE, { isUnseen: true });
    await stage.settle();
    expect(refused.caller.outcomes.map(({ status }) => status)).toEqual([STATUS.UNAVAILABLE]);
    expect(tenant.queuedGroups).toBe(0);
  });
});

describe('targets that change', () => {
  it('new ones are used, old ones finish their batches and are closed', async () => {
    const stage = new FakeStage({ targets: ['a:1'] });
    const { caller, stream } = await sendOne(stage);
    const old = stage.channel('a:1');
    stage.pool.setTargets([{ target: 'b:1' }]);
    stage.channel('b:1').become('ready');
    expect(old.isClosed).toBe(true);
    expect((await sendOne(stage)).target).toBe('b:1');
    stream?.echoes();
    expect(caller.outcome?.text).toBe('X');
  });

  it('unchanged ones keep their channel', () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'] });
    const a = backendOf(stage, 'a:1');
    stage.pool.setTargets([{ target: 'c:1' }, { target: 'a:1' }]);
    expect(stage.pool.backends.map(({ target }) => target)).toEqual(['c:1', 'a:1']);
    expect(stage.pool.backends[1]).toBe(a);
  });

  it('one that returns while its last batch is in flight is used again', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'] });
    const hanging = await sendOne(stage);
    const { target = '' } = hanging;
    const rest = ['a:1', 'b:1'].filter((other) => other !== target);
    stage.pool.setTargets(rest.map((other) => ({ target: other })));
    stage.pool.setTargets(['a:1', 'b:1'].map((other) => ({ target: other })));
    stage.channel(target).become('ready');
    const two = [await sendOne(stage), await sendOne(stage)];
    expect(new Set(two.map((sent) => sent.target))).toEqual(new Set(['a:1', 'b:1']));
    hanging.stream?.echoes();
    for (const { stream } of two) stream?.echoes();
    await stage.settle();
    expect(stage.ended.map(([, status]) => status)).toEqual([STATUS.OK, STATUS.OK, STATUS.OK]);
  });

  it('if none is left, queued calls fail, and the operator sees the reason', async () => {
    const stage = new FakeStage({ targets: ['a:1'] });
    await sendOne(stage);
    const queued = stage.calls('queued');
    await stage.settle();
    stage.pool.setTargets([], new Error('dns:///a:1 cannot be looked up: ENOTFOUND'));
    await stage.settle();
    expect(queued.outcome?.status).toBe(STATUS.UNAVAILABLE);
    expect(queued.outcome?.error?.message).toBe('The backend is unavailable.');
    expect(stage.pool.whyDown).toBe('no backend can be reached: dns:///a:1 cannot be looked up: ENOTFOUND');
  });
});

describe('a connection', () => {
  it('that becomes idle is established again', () => {
    const stage = new FakeStage();
    stage.channel().become('idle');
    expect(stage.channel().state).toBe('connecting');
  });

  it('that cannot be established is logged once, not for every attempt', () => {
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

describe('whenTried()', () => {
  const waiting = (targets: readonly string[]) => {
    const stage = new FakeStage({ targets, isConnected: false });
    const state = { isOver: false };
    void stage.pool.whenTried(1000).then(() => {
      state.isOver = true;
    });
    return { stage, state };
  };

  it('resolves when one backend is ready', async () => {
    const { stage, state } = waiting(['a:1', 'b:1']);
    await stage.clock.advance(500);
    expect(state.isOver).toBe(false);
    stage.channel('b:1').become('ready');
    await stage.settle();
    expect(state.isOver).toBe(true);
    expect(stage.clock.pendingTimers).toBe(0);
  });

  it('resolves when no backend can be reached', async () => {
    const { stage, state } = waiting(['a:1', 'b:1']);
    stage.channel('a:1').become('failing', new Error('ECONNREFUSED'));
    await stage.settle();
    expect(state.isOver).toBe(false);
    stage.channel('b:1').become('failing', new Error('ECONNREFUSED'));
    await stage.settle();
    expect(state.isOver).toBe(true);
  });

  it('resolves after its timeout', async () => {
    const { stage, state } = waiting(['a:1']);
    await stage.clock.advance(1000);
    expect(state.isOver).toBe(true);
  });
});
