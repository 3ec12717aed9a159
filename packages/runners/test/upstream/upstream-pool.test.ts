import { BatchwiseError, VirtualClock } from 'batchwise';
import { beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_RUNNER_SETTINGS, type UpstreamSettings } from '../../src/index.js';
import { answered, type Failure, failed, type Outcome } from '../../src/upstream/outcome.js';
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

/** The outcome that a peer gives when asked where it is. */
const placeOf = async (peer: FakePeer): Promise<Outcome<string>> => {
  const outcome = await peer.infer(new Map(), {} as never);
  return outcome.kind === 'answered' ? answered(peer.place) : outcome;
};
const ask = (pool: UpstreamPool<FakePeer>, cost = 1) => pool.run(cost, undefined, placeOf);

const outageOf = (message: string, cause: string): Failure => ({
  ...ABANDONED,
  error: new BatchwiseError('UNAVAILABLE', message, { cause: new Error(cause) }),
  isOutage: true,
  isAbandoned: false,
});

/** Takes so long, on the clock. */
const taking = (ms: number) => () =>
  new Promise<Outcome<never>>((resolve) => clock.setTimer(() => resolve(answered(new Map() as never)), ms));

/** How a call ends whose callers have gone. */
const ABANDONED: Failure = {
  kind: 'failed',
  error: new BatchwiseError('CANCELLED', 'nobody waits any more'),
  isOutage: false,
  isUnseen: false,
  isAbandoned: true,
};

/** Its callers give up after so long, before it has answered. */
const givenUpAfter = (ms: number) => () =>
  new Promise<Outcome<never>>((resolve) => clock.setTimer(() => resolve(ABANDONED), ms));

/** One call after the other, each with the time it takes. */
async function askInTurn(pool: UpstreamPool<FakePeer>, times: number, ms: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const asking = ask(pool).catch(() => {});
    await clock.advance(ms);
    await asking;
  }
}

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
    const asking = poolOf([a, b]).run(1, controller.signal, placeOf);
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

  test('goes again where it took long once', async () => {
    // What was learned of a copy never grew old: one cold start, and it was not asked again while another was quicker.
    a.answer = taking(400);
    b.answer = taking(20);
    const pool = poolOf([a, b]);
    await askInTurn(pool, 4, 400);
    a.answer = taking(20);
    await askInTurn(pool, 40, 1000);
    expect(a.calls.length).toBeGreaterThan(10);
  });

  test('goes elsewhere after one that was given up, though nothing speaks against the upstream yet', async () => {
    // Nothing was learned of calls that were given up, so one that hangs looked as quick as ever.
    a.answer = taking(20);
    b.answer = taking(30);
    const pool = poolOf([a, b]);
    await askInTurn(pool, 2, 30);
    a.answer = givenUpAfter(500);
    await askInTurn(pool, 1, 500);
    expect(a.calls.length).toBe(2);
    await askInTurn(pool, 5, 30);
    expect(a.calls.length).toBe(2);
    expect(log).toEqual([]);
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
    expect(log).toEqual([
      'm: the upstream grpc://a:1 does not respond and gets no batches for now: grpc://a:1 is away',
    ]);
  });

  test('is used again when it says that it is ready', async () => {
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
    expect(changes).toBe(2); // open, closed
    expect(log.at(-1)).toBe('m: the upstream grpc://a:1 responds again.');
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

  test('that hangs is left alone, though its callers give up before the time-out', async () => {
    // A call whose callers had gone counted for nothing, and with deadlines shorter than the time-out all of them go.
    const pool = poolOf([a], { maxFailures: 3 });
    a.answer = taking(20);
    await askInTurn(pool, 10, 20);
    a.answer = givenUpAfter(500);
    await askInTurn(pool, 2, 500);
    expect(pool.outage).toBeUndefined();
    await askInTurn(pool, 1, 500);
    expect(pool.outage?.message).toMatch(/no response within 500 ms/);
  });

  test('from the start is left alone, though its callers give up before the time-out', async () => {
    // There was nothing to compare with, and nothing ever would be.
    const pool = poolOf([a], { maxFailures: 3 });
    a.answer = givenUpAfter(300);
    await askInTurn(pool, 6, 300);
    expect(pool.outage).toBeDefined();
  });

  test('to callers who leave before it could is not left alone', async () => {
    const pool = poolOf([a], { maxFailures: 3 });
    a.answer = taking(100);
    await askInTurn(pool, 10, 100);
    a.answer = givenUpAfter(90);
    await askInTurn(pool, 50, 90);
    expect(pool.outage).toBeUndefined();
    expect(log).toEqual([]);
  });

  test('that is asked for much at a time is not left alone for callers who leave in the middle of it', async () => {
    const pool = poolOf([a], { maxFailures: 3 });
    a.answer = taking(100);
    await askInTurn(pool, 10, 100);
    // It may do one after the other: then the last of these would be answered after 400 ms.
    a.answer = givenUpAfter(300);
    const asking = Array.from({ length: 4 }, () => ask(pool).catch(() => {}));
    await clock.advance(300);
    await Promise.all(asking);
    expect(pool.outage).toBeUndefined();
  });

  test('a second time is noticed too while nothing is sent', async () => {
    // Back by its own word it was half-open until the next call, and only one that was closed was asked how it is.
    const pool = poolOf([a], { healthIntervalMs: 5000 });
    await pool.start();
    for (let i = 0; i < 2; i++) {
      a.isReady = false;
      await clock.advance(5000);
      await settled();
      expect(pool.outage).toBeDefined();
      a.isReady = true;
      await clock.advance(5000);
      await settled();
      expect(pool.outage).toBeUndefined();
    }
  });

  test('is told to callers by the name of the runner, and in the log by where it is', async () => {
    // Errors were called by the URL they came from, and their text goes to whoever called from outside.
    a.goAway(false);
    // A sentence, as it is over HTTP: its full stop stood in the middle of the line in the log.
    a.answer = () => outageOf('the connection failed (ECONNREFUSED).', 'connect ECONNREFUSED 10.0.0.7:8001');
    const pool = poolOf([a], { maxFailures: 1 });
    const texts: string[] = [];
    for (let i = 0; i < 2; i++) await ask(pool).catch(({ message }: Error) => texts.push(message));
    expect(texts).toEqual([
      'm: the upstream: the connection failed (ECONNREFUSED).',
      'm: the upstream does not respond. Last error: the connection failed (ECONNREFUSED).',
    ]);
    expect(log).toEqual([
      'm: the upstream grpc://a:1 does not respond and gets no batches for now: the connection failed (ECONNREFUSED): ' +
        'connect ECONNREFUSED 10.0.0.7:8001',
    ]);
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
    // Once: a wrong port would look like a model that loads for long.
    expect(log).toEqual(['m: waiting for the upstream grpc://a:1, up to 60 s: grpc://a:1 is warming up']);
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

  test('calls none away that is about to answer', async () => {
    // Whoever had not answered when the first had was taken for dead: with several URLs all but one, always.
    let answer = () => {};
    b.checkReady = () =>
      new Promise<void>((resolve) => {
        answer = resolve;
      });
    for (const peer of [a, b]) peer.answer = () => answered(new Map());
    const pool = poolOf([a, b]);
    expect(await pool.start()).toBe(a);
    await settled();
    for (let i = 0; i < 2; i++) expect(await ask(pool)).toBe('grpc://a:1');
    answer();
    await settled();
    expect(new Set([await ask(pool), await ask(pool)])).toEqual(new Set(['grpc://a:1', 'grpc://b:1']));
    expect(log).toEqual([]);
  });

  test('leaves nothing behind when it is closed meanwhile', async () => {
    // The pause between two questions had no end but its own.
    a.isReady = false;
    const pool = poolOf([a, b]);
    b.isReady = false;
    const failing = expect(pool.start()).rejects.toMatchObject({ code: 'CLOSED' });
    await settled();
    await pool.close();
    await settled();
    await failing;
    expect(clock.pendingTimers).toBe(0);
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
