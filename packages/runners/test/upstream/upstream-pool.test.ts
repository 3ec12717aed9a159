import { VirtualClock } from 'batchwise';
import { beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_RUNNER_SETTINGS, type UpstreamSettings } from '../../src/index.js';
import { answered, failed, type Outcome } from '../../src/upstream/outcome.js';
import { UpstreamPool } from '../../src/upstream/upstream-pool.js';
import { FakePeer } from '../support/fake-peer.js';

let clock: VirtualClock;
let a: FakePeer;
let b: FakePeer;
let log: string[];

beforeEach(() => {
  clock = new VirtualClock();
  a = new FakePeer('grpc://a:1');
  b = new FakePeer('grpc://b:1');
  log = [];
});

function poolOf(peers: readonly FakePeer[], changes: Partial<UpstreamSettings> = {}): UpstreamPool<FakePeer> {
  const settings = { ...DEFAULT_RUNNER_SETTINGS.upstream, ...changes };
  return new UpstreamPool({ name: 'm', peers, settings, clock, log: (line) => log.push(line) });
}

/** Lets promises settle. */
const settled = () => clock.settle();

/** The outcome that a peer gives when asked for its URL. */
const urlOf = async (peer: FakePeer): Promise<Outcome<string>> => {
  const outcome = await peer.infer(new Map(), {} as never);
  return outcome.kind === 'answered' ? answered(peer.url) : outcome;
};
const ask = (pool: UpstreamPool<FakePeer>, cost = 1) => pool.run(cost, undefined, urlOf);

/** Takes so long, on the clock. */
const taking = (ms: number) => () =>
  new Promise<Outcome<never>>((resolve) => clock.setTimer(() => resolve(answered(new Map() as never)), ms));

describe('a batch', () => {
  beforeEach(() => {
    for (const peer of [a, b]) peer.answer = () => answered(new Map());
  });

  test('that was certainly not begun is sent once more, to another', async () => {
    a.goAway();
    const pool = poolOf([a, b]);
    expect(await ask(pool)).toBe('grpc://b:1');
    expect([a.calls.length, b.calls.length]).toEqual([1, 1]);
  });

  test('that was not begun goes to another though the same is expected to be quicker', async () => {
    a.answer = taking(10);
    b.answer = taking(100);
    const pool = poolOf([a, b]);
    for (let i = 0; i < 2; i++) {
      const asking = ask(pool);
      await clock.advance(100);
      await asking;
    }
    a.goAway();
    const asking = ask(pool);
    await clock.advance(100);
    expect(await asking).toBe('grpc://b:1');
  });

  test('that may have been begun is not sent again', async () => {
    a.goAway(false);
    await expect(ask(poolOf([a, b]))).rejects.toThrow('grpc://a:1 is away');
    expect(b.calls).toEqual([]);
  });

  test('that was answered with an error is not sent again', async () => {
    a.answer = () => failed(new Error('bad row'));
    await expect(ask(poolOf([a, b]))).rejects.toThrow('bad row');
    expect(b.calls).toEqual([]);
  });

  test('whose callers have gone is not sent again', async () => {
    const controller = new AbortController();
    a.goAway();
    const { answer } = a;
    a.answer = (...asked) => {
      controller.abort();
      return answer(...asked);
    };
    const asking = poolOf([a, b]).run(1, controller.signal, urlOf);
    await expect(asking).rejects.toThrow('is away');
    expect(b.calls).toEqual([]);
  });

  test('is sent as often as retries say', async () => {
    for (const peer of [a, b]) peer.goAway();
    await expect(ask(poolOf([a, b], { retries: 3 }))).rejects.toThrow('is away');
    expect(a.calls.length + b.calls.length).toBe(4);
    await expect(ask(poolOf([a, b], { retries: 0 }))).rejects.toThrow('is away');
    expect(a.calls.length + b.calls.length).toBe(5);
  });

  test('goes where it is expected to be done first', async () => {
    a.answer = taking(100);
    b.answer = taking(10);
    const pool = poolOf([a, b]);
    for (let i = 0; i < 4; i++) {
      const asking = ask(pool);
      await clock.advance(100);
      await asking;
    }
    expect(a.calls.length).toBe(1);
    // All at once: the quick one gets them until waiting there would take longer than the slow one does.
    const many = Array.from({ length: 12 }, () => ask(pool));
    expect(a.calls.length - 1).toBe(1);
    await clock.advance(100);
    await Promise.all(many);
  });

  test('goes to all in turn where nothing speaks for either', async () => {
    const pool = poolOf([a, b]);
    for (let i = 0; i < 4; i++) await ask(pool);
    expect([a.calls.length, b.calls.length]).toEqual([2, 2]);
  });
});

describe('an upstream that does not answer', () => {
  test('is left alone after some failures, and callers are told at once for how long', async () => {
    a.goAway(false);
    const pool = poolOf([a], { maxFailures: 3 });
    for (let i = 0; i < 3; i++) await expect(ask(pool)).rejects.toThrow('is away');
    expect(pool.outage).toBeDefined();
    await expect(ask(pool)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfterMs: 1000 });
    expect(a.calls.length).toBe(3);
    expect(log).toEqual(['m: the upstream does not answer and is left alone: grpc://a:1 is away']);
  });

  test('is used again when it says that it is ready and one call was answered', async () => {
    const pool = poolOf([a], { maxFailures: 1 });
    await pool.start();
    let changes = 0;
    pool.onChange(() => {
      changes += 1;
    });
    a.goAway(false);
    await expect(ask(pool)).rejects.toThrow('is away');
    a.comeBack();
    a.answer = () => answered(new Map());
    await clock.advance(1000);
    await settled();
    expect(pool.outage).toBeUndefined();
    expect(await ask(pool)).toBe('grpc://a:1');
    expect(changes).toBe(3); // open, half-open, closed
    expect(log.at(-1)).toBe('m: the upstream grpc://a:1 answers again.');
  });

  test('is no outage as long as another answers', async () => {
    b.answer = () => answered(new Map());
    const pool = poolOf([a, b], { maxFailures: 1 });
    await pool.start();
    a.goAway(false);
    await ask(pool).catch(() => {});
    for (let i = 0; i < 5; i++) expect(await ask(pool)).toBe('grpc://b:1');
    expect(pool.outage).toBeUndefined();
    expect(a.calls.length).toBe(1);
  });

  test('is noticed by its connection before anything is sent', async () => {
    const pool = poolOf([a]);
    await pool.start();
    a.connectionChanged(new Error('connection lost'));
    expect(pool.outage?.message).toMatch(/connection lost/);
    a.connectionChanged(undefined);
    await settled();
    expect(pool.outage).toBeUndefined();
  });

  test('is noticed by asking it while nothing is sent', async () => {
    const pool = poolOf([a], { healthIntervalMs: 5000 });
    await pool.start();
    a.isReady = false;
    await clock.advance(5000);
    await settled();
    expect(pool.outage?.message).toMatch(/is warming up/);
  });

  test('is not asked while it is being called: the calls will tell', async () => {
    const pool = poolOf([a], { healthIntervalMs: 5000 });
    await pool.start();
    const { checks } = a;
    a.answer = taking(60_000);
    const asking = ask(pool);
    for (let i = 0; i < 11; i++) {
      await clock.advance(5000);
      await settled();
    }
    expect(a.checks).toBe(checks);
    await clock.advance(5000);
    await asking;
  });
});

describe('the start', () => {
  test('waits until the upstream is ready', async () => {
    a.isReady = false;
    let isStarted = false;
    const starting = poolOf([a])
      .start()
      .then(() => {
        isStarted = true;
      });
    for (let i = 0; i < 10; i++) {
      await settled();
      await clock.advance(1000);
    }
    expect(isStarted).toBe(false);
    a.isReady = true;
    await settled();
    await clock.advance(1000);
    await starting;
  });

  test('fails with where it was looked for and why it was not found', async () => {
    a.isReady = false;
    const starting = poolOf([a], { startTimeoutMs: 2000 }).start();
    const failing = expect(starting).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'm: the upstream grpc://a:1 was not ready within 2000 ms: grpc://a:1 is warming up',
    });
    for (let i = 0; i < 10; i++) {
      await settled();
      await clock.advance(1000);
    }
    await failing;
  });

  test('is content with one of several, and leaves the others alone until they are ready', async () => {
    a.isReady = false;
    const pool = poolOf([a, b]);
    expect(await pool.start()).toBe(b);
    b.answer = () => answered(new Map());
    for (let i = 0; i < 3; i++) expect(await ask(pool)).toBe('grpc://b:1');
    a.comeBack();
    a.answer = () => answered(new Map());
    await clock.advance(1000);
    expect([await ask(pool), await ask(pool)]).toContain('grpc://a:1');
  });

  test('ends when it is closed meanwhile', async () => {
    a.isReady = false;
    const pool = poolOf([a]);
    const failing = expect(pool.start()).rejects.toMatchObject({ code: 'CLOSED' });
    await settled();
    await pool.close();
    await clock.advance(1000);
    await failing;
    expect(a.isClosed).toBe(true);
  });
});
