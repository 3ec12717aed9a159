/** Health checks of a backend. */
import { STATUS } from '@batchwise/grpc';
import { VirtualClock } from 'batchwise';
import { describe, expect, it } from 'vitest';
import { Backend } from '../src/backends/backend.js';
import { HealthWatch } from '../src/backends/health-watch.js';
import { FakeChannel } from './fakes/fake-channel.js';

function watching() {
  const clock = new VirtualClock();
  const log: string[] = [];
  const reported: boolean[] = [];
  let channel!: FakeChannel;
  const backend = new Backend(
    { target: 'a:1' },
    {
      clock,
      tls: undefined,
      maxBatchesInFlight: 1,
      openChannel: (options) => {
        channel = new FakeChannel(options);
        return channel.asChannel;
      },
    },
  );
  const watch = new HealthWatch(backend, {
    clock,
    intervalMs: 1000,
    timeoutMs: 100,
    service: '',
    log: (line) => log.push(line),
    onHealth: (isHealthy) => {
      backend.isHealthy = isHealthy;
      reported.push(isHealthy);
    },
  });
  const report = async (status: 'serving' | 'not serving' | number) => {
    const check = channel.open[0];
    if (check === undefined) throw new Error('expected a health check, found none');
    if (typeof status === 'number') check.ends(status, { message: 'not ready' });
    else {
      check.answers(String.fromCharCode(8, status === 'serving' ? 1 : 2));
      check.ends(STATUS.OK);
    }
    await clock.settle();
  };
  watch.start();
  return { clock, log, backend, channel, watch, report, reported };
}

describe('a backend', () => {
  it('is checked after it connects and then periodically', async () => {
    const { channel, clock, report } = watching();
    expect(channel.calls).toHaveLength(0);
    channel.become('ready');
    await report('serving');
    await clock.advance(1000);
    await report('serving');
    await clock.advance(999);
    expect(channel.calls.map(({ path }) => path)).toEqual(Array(2).fill('/grpc.health.v1.Health/Check'));
    await clock.advance(1);
    expect(channel.calls).toHaveLength(3);
  });

  it('is unhealthy while it reports not serving', async () => {
    const { channel, clock, backend, report, log, reported } = watching();
    channel.become('ready');
    await report('not serving');
    expect(backend.isHealthy).toBe(false);
    await clock.advance(1000);
    await report('serving');
    expect(backend.isHealthy).toBe(true);
    expect(log).toEqual([
      'backend a:1 is unhealthy: its health check reports not serving',
      'backend a:1 is healthy: serving',
    ]);
    expect(reported).toEqual([false, true]);
  });

  it('without the health service is healthy', async () => {
    const { channel, backend, report } = watching();
    channel.become('ready');
    await report(STATUS.UNIMPLEMENTED);
    expect(backend.isHealthy).toBe(true);
  });

  it('is unhealthy after three consecutive failed checks', async () => {
    const { channel, clock, backend, report } = watching();
    channel.become('ready');
    const found: boolean[] = [];
    for (const status of [4, 4, 'serving', 4, 4, 4] as const) {
      await report(status);
      found.push(backend.isHealthy);
      await clock.advance(1000);
    }
    expect(found).toEqual([true, true, true, true, true, false]);
  });

  it('is reported as healthy by each check that reports serving, which ends an ejection', async () => {
    const { channel, clock, report, reported } = watching();
    channel.become('ready');
    await report(STATUS.UNIMPLEMENTED);
    expect(reported).toEqual([]);
    for (let i = 1; i <= 2; i++) {
      await clock.advance(1000);
      await report('serving');
      expect(reported).toHaveLength(i);
    }
  });

  it('is not checked without a connection, and at once after it connects', async () => {
    const { channel, clock, report } = watching();
    channel.become('ready');
    await report('serving');
    channel.become('failing', new Error('lost'));
    await clock.advance(10_000);
    expect(channel.calls).toHaveLength(1);
    channel.become('ready');
    expect(channel.calls).toHaveLength(2);
  });

  it('a new connection resets the failure count', async () => {
    const { channel, clock, backend, report } = watching();
    channel.become('ready');
    for (let i = 0; i < 2; i++) {
      await report(STATUS.DEADLINE_EXCEEDED);
      await clock.advance(1000);
    }
    channel.become('idle');
    channel.become('ready');
    await report(STATUS.DEADLINE_EXCEEDED);
    expect(backend.isHealthy).toBe(true);
  });

  it('is not checked after stop()', async () => {
    const { channel, clock, watch, report } = watching();
    channel.become('ready');
    await report('serving');
    watch.stop();
    expect(clock.pendingTimers).toBe(0);
    channel.become('ready');
    expect(channel.calls).toHaveLength(1);
  });
});
