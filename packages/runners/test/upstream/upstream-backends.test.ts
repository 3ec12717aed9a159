import { Batcher, BatchwiseError, greedy, VirtualClock } from 'batchwise';
import { beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_RUNNER_SETTINGS, type UpstreamSettings } from '../../src/index.js';
import { answered, type Failure, failed, type Outcome } from '../../src/upstream/outcome.js';
import { UpstreamBackends } from '../../src/upstream/upstream-backends.js';
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

const CONCURRENCY = 16;

function backendsOf(
  peers: readonly FakePeer[],
  changes: Partial<UpstreamSettings> = {},
): UpstreamBackends<FakePeer> {
  const settings = { ...DEFAULT_RUNNER_SETTINGS.upstream, ...changes };
  const log_ = (line: string) => log.push(line);
  return new UpstreamBackends({ name: 'm', peers, settings, concurrency: CONCURRENCY, clock, log: log_ });
}

/** Started peers behind a batcher with batches of one. */
interface Pool {
  readonly backends: UpstreamBackends<FakePeer>;
  readonly batcher: Batcher<number, string>;
  readonly outage: Error | undefined;
}

function batcherOf(backends: UpstreamBackends<FakePeer>): Pool {
  const set = backends.createBackends<number, string>(async (_, { backend, signal }) => [
    await backends.call(backend, placeOf(signal)),
  ]);
  const batcher = new Batcher<number, string>({
    ...{ backends: set, clock, maxBatchSize: 1, policy: greedy() },
    ...{ concurrency: CONCURRENCY, name: 'm' },
  });
  return {
    backends,
    batcher,
    get outage() {
      return backends.outage;
    },
  };
}

async function poolOf(peers: readonly FakePeer[], changes: Partial<UpstreamSettings> = {}): Promise<Pool> {
  const backends = backendsOf(peers, changes);
  const pool = batcherOf(backends);
  await backends.start();
  await settled();
  return pool;
}

/** Lets promises settle. */
const settled = () => clock.settle();

/** A peer that answers with its address. */
const placeOf =
  (signal: AbortSignal) =>
  async (peer: FakePeer): Promise<Outcome<string>> => {
    const outcome = await peer.infer(new Map(), { signal } as never);
    return outcome.kind === 'answered' ? answered(peer.place) : outcome;
  };

/** The calls that the pool forwards, one batch each. */
async function submit({ batcher }: Pool, timeoutMs?: number): Promise<string> {
  const pending = batcher.submit(1, { timeoutMs });
  pending.catch(() => {});
  await settled();
  return pending;
}

const outageOf = (message: string, cause: string): Failure => ({
  ...ABANDONED,
  error: new BatchwiseError('UNAVAILABLE', message, { cause: new Error(cause) }),
  isOutage: true,
  isAbandoned: false,
});

/** A call that takes `ms` on the clock. */
const taking = (ms: number) => () =>
  new Promise<Outcome<never>>((resolve) => clock.setTimer(() => resolve(answered(new Map() as never)), ms));

/** The outcome of a call that all callers have cancelled. */
const ABANDONED: Failure = {
  kind: 'failed',
  error: new BatchwiseError('CANCELLED', 'all callers have cancelled'),
  isOutage: false,
  isUnseen: false,
  isAbandoned: true,
};

/** No response until all callers have cancelled. */
const hanging = (_: unknown, { signal }: { readonly signal: AbortSignal | undefined }) =>
  new Promise<Outcome<never>>((resolve) => signal?.addEventListener('abort', () => resolve(ABANDONED)));

/** Calls in sequence, each with its duration, after which the callers give up. */
async function submitInSequence(pool: Pool, times: number, ms: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const pending = submit(pool, ms + 0.5).catch(() => {});
    await clock.advance(ms + 0.5);
    await pending;
  }
}

const calls = () => a.calls.length + b.calls.length;

describe('a batch', () => {
  beforeEach(() => {
    for (const peer of [a, b]) peer.answer = () => answered(new Map());
  });

  test('that was certainly not started is retried on another peer', async () => {
    const pool = await poolOf([a, b]);
    a.goAway();
    for (let i = 0; i < 2; i++) expect(await submit(pool)).toBe('grpc://b:1');
    expect(a.calls.length).toBe(1);
  });

  test('that was not started is retried on another peer even if the same peer is faster', async () => {
    a.answer = taking(10);
    b.answer = taking(100);
    const pool = await poolOf([a, b]);
    await submitInSequence(pool, 12, 100);
    a.goAway();
    const before = a.calls.length;
    const pending = submit(pool);
    await clock.advance(100);
    expect(await pending).toBe('grpc://b:1');
    expect(a.calls.length).toBe(before + 1);
  });

  test('that may have been started is not retried', async () => {
    const pool = await poolOf([a, b]);
    for (const peer of [a, b]) peer.goAway(false);
    await expect(submit(pool)).rejects.toThrow(/is away/);
    expect(calls()).toBe(1);
  });

  test('that failed with an error response is not retried', async () => {
    const pool = await poolOf([a, b]);
    for (const peer of [a, b]) peer.answer = () => failed(new BatchwiseError('HANDLER_FAILED', 'bad row'));
    await expect(submit(pool)).rejects.toThrow('bad row');
    expect(calls()).toBe(1);
  });

  test('that all callers have cancelled is not retried', async () => {
    const controller = new AbortController();
    const pool = await poolOf([a, b]);
    for (const peer of [a, b]) {
      peer.goAway();
      const { answer } = peer;
      peer.answer = (...call) => {
        controller.abort();
        return answer(...call);
      };
    }
    const pending = pool.batcher.submit(1, { signal: controller.signal });
    await expect(pending).rejects.toMatchObject({ code: 'CANCELLED' });
    await settled();
    expect(calls()).toBe(1);
  });

  test.each([0, 1, 3])('is retried up to the number of retries: %i', async (retries) => {
    const pool = await poolOf([a, b], { retries });
    for (const peer of [a, b]) peer.goAway();
    await expect(submit(pool)).rejects.toThrow('is away');
    expect(calls()).toBe(retries + 1);
  });

  test('is dispatched to the peer with the earliest expected completion', async () => {
    a.answer = taking(100);
    b.answer = taking(10);
    const pool = await poolOf([a, b]);
    await submitInSequence(pool, 12, 100);
    const before = a.calls.length;
    await submitInSequence(pool, 12, 100);
    expect(a.calls.length).toBe(before);
  });

  test('is dispatched again to a peer that was slow once', async () => {
    // Root cause: the learned durations of a copy never expired: after one cold start it got no batches while another
    // was faster.
    a.answer = taking(400);
    b.answer = taking(20);
    const pool = await poolOf([a, b]);
    await submitInSequence(pool, 12, 400);
    a.answer = taking(20);
    const before = a.calls.length;
    await submitInSequence(pool, 80, 1000);
    expect(a.calls.length - before).toBeGreaterThan(10);
  });

  test('is dispatched to another peer after an abandoned call, before the ejection', async () => {
    // Root cause: abandoned calls did not change the service curve, so a peer that hangs was expected to be fast.
    a.answer = taking(20);
    b.answer = taking(20);
    const pool = await poolOf([a, b]);
    await submitInSequence(pool, 4, 20);
    a.answer = hanging;
    const before = a.calls.length;
    while (a.calls.length === before) await submitInSequence(pool, 1, 500);
    await submitInSequence(pool, 5, 20);
    expect(a.calls.length).toBe(before + 1);
    expect(log).toEqual([]);
  });

  test('is dispatched to equal peers in rotation', async () => {
    const pool = await poolOf([a, b]);
    for (let i = 0; i < 4; i++) await submit(pool);
    expect([a.calls.length, b.calls.length]).toEqual([2, 2]);
  });
});

describe('an upstream that does not respond', () => {
  test('gets no calls after maxFailures, and callers get the retry time immediately', async () => {
    const pool = await poolOf([a], { maxFailures: 3 });
    a.goAway(false);
    for (let i = 0; i < 3; i++) await expect(submit(pool)).rejects.toThrow('is away');
    expect(pool.outage).toBeDefined();
    await expect(submit(pool)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfterMs: 1000 });
    expect(a.calls.length).toBe(3);
    expect(log).toEqual([
      'm: the upstream grpc://a:1 does not respond and is ejected: m: the upstream: grpc://a:1 is away',
    ]);
  });

  test('is used again when it is ready', async () => {
    const pool = await poolOf([a], { maxFailures: 1 });
    let changes = 0;
    pool.backends.onChange(() => {
      changes += 1;
    });
    a.goAway(false);
    await expect(submit(pool)).rejects.toThrow('is away');
    a.respondAgain();
    a.answer = () => answered(new Map());
    await clock.advance(1000);
    await settled();
    expect(pool.outage).toBeUndefined();
    expect(await submit(pool)).toBe('grpc://a:1');
    expect(changes).toBeGreaterThanOrEqual(2); // open, closed
    expect(log.at(-1)).toBe('m: the upstream grpc://a:1 responds again.');
  });

  test('is not an outage while another peer responds', async () => {
    const pool = await poolOf([a, b], { maxFailures: 1 });
    b.answer = () => answered(new Map());
    a.goAway(false);
    while (a.calls.length === 0) await submit(pool).catch(() => {});
    for (let i = 0; i < 5; i++) expect(await submit(pool)).toBe('grpc://b:1');
    expect(pool.outage).toBeUndefined();
    expect(a.calls.length).toBe(1);
  });

  test('that hangs gets no calls, even if the callers cancel before the timeout', async () => {
    // Root cause: abandoned calls did not count, and with deadlines shorter than the timeout all calls are abandoned.
    const pool = await poolOf([a], { maxFailures: 3 });
    a.answer = taking(20);
    await submitInSequence(pool, 10, 20);
    a.answer = hanging;
    await submitInSequence(pool, 2, 500);
    expect(pool.outage).toBeUndefined();
    await submitInSequence(pool, 1, 500);
    expect(pool.outage?.message).toMatch(/^m: No backend is ready/);
  });

  test('from the start gets no calls, even if the callers cancel before the timeout', async () => {
    // Root cause: without a first response there was no expected duration.
    const pool = await poolOf([a], { maxFailures: 3 });
    a.answer = hanging;
    await submitInSequence(pool, 6, 300);
    expect(pool.outage).toBeDefined();
  });

  test('still gets calls if callers cancel before a response is possible', async () => {
    const pool = await poolOf([a], { maxFailures: 3 });
    a.answer = taking(100);
    await submitInSequence(pool, 10, 100);
    a.answer = hanging;
    await submitInSequence(pool, 50, 90);
    expect(pool.outage).toBeUndefined();
    expect(log).toEqual([]);
  });

  test('still gets calls under load if callers cancel early', async () => {
    const pool = await poolOf([a], { maxFailures: 3 });
    a.answer = taking(100);
    await submitInSequence(pool, 10, 100);
    // The peer may run the calls in sequence: then the last response would come after 400 ms.
    a.answer = hanging;
    const pending = Array.from({ length: 4 }, () => submit(pool, 300).catch(() => {}));
    await clock.advance(300);
    await Promise.all(pending);
    expect(pool.outage).toBeUndefined();
  });

  test('is detected a second time without traffic', async () => {
    // Root cause: after a successful probe the breaker was half-open until the next call, and only a closed one was
    // health-checked.
    const pool = await poolOf([a], { healthIntervalMs: 5000 });
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

  test('still gets calls if it responds with UNAVAILABLE or DEADLINE_EXCEEDED itself', async () => {
    const pool = await poolOf([a], { maxFailures: 1 });
    for (const code of ['UNAVAILABLE', 'DEADLINE_EXCEEDED'] as const) {
      a.answer = () => failed(new BatchwiseError(code, 'from the upstream'));
      await expect(submit(pool)).rejects.toMatchObject({ code });
    }
    expect(pool.outage).toBeUndefined();
  });

  test('has the name of the runner in errors for callers, and its address in the log', async () => {
    // Root cause: error messages contained the URL, which external callers could see.
    const pool = await poolOf([a], { maxFailures: 1 });
    // A message with a full stop, as over HTTP. Root cause: the full stop was in the middle of the log line.
    a.answer = () => outageOf('the connection failed (ECONNREFUSED).', 'connect ECONNREFUSED 10.0.0.7:8001');
    const texts: string[] = [];
    for (let i = 0; i < 2; i++) await submit(pool).catch(({ message }: Error) => texts.push(message));
    expect(texts).toEqual([
      'm: the upstream: the connection failed (ECONNREFUSED).',
      'm: No backend is ready. Last error: m: the upstream: the connection failed (ECONNREFUSED).',
    ]);
    expect(log).toEqual([
      'm: the upstream grpc://a:1 does not respond and is ejected: m: the upstream: the connection ' +
        'failed (ECONNREFUSED): connect ECONNREFUSED 10.0.0.7:8001',
    ]);
  });

  test('is detected by its connection before a call', async () => {
    const pool = await poolOf([a]);
    a.connectionChanged(new Error('connection lost'));
    expect(pool.outage?.message).toMatch(/connection lost/);
    a.connectionChanged(undefined);
    await settled();
    expect(pool.outage).toBeUndefined();
  });

  test('is detected by a health check without traffic', async () => {
    const pool = await poolOf([a], { healthIntervalMs: 5000 });
    a.isReady = false;
    await clock.advance(5000);
    await settled();
    expect(pool.outage?.message).toMatch(/is warming up/);
  });

  test('gets no health check while calls are in flight', async () => {
    const pool = await poolOf([a], { healthIntervalMs: 5000 });
    const { checks } = a;
    a.answer = taking(60_000);
    const pending = submit(pool);
    for (let i = 0; i < 11; i++) {
      await clock.advance(5000);
      await settled();
    }
    expect(a.checks).toBe(checks);
    await clock.advance(5000);
    await pending;
  });
});

describe('the start', () => {
  test('waits until the upstream is ready', async () => {
    a.isReady = false;
    let isStarted = false;
    const starting = backendsOf([a])
      .start()
      .then(() => {
        isStarted = true;
      });
    for (let i = 0; i < 10; i++) {
      await settled();
      await clock.advance(1000);
    }
    expect(isStarted).toBe(false);
    // Logged once: a wrong port would otherwise look like a model that loads slowly.
    expect(log).toEqual(['m: waiting for the upstream grpc://a:1, up to 60 s: grpc://a:1 is warming up']);
    a.isReady = true;
    await settled();
    await clock.advance(1000);
    await starting;
  });

  test('fails with the address and the reason', async () => {
    a.isReady = false;
    const starting = backendsOf([a], { startTimeoutMs: 2000 }).start();
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

  test('needs one ready peer, and the others get no calls until they are ready', async () => {
    a.isReady = false;
    const backends = backendsOf([a, b]);
    const pool = batcherOf(backends);
    expect(await backends.start()).toBe(b);
    b.answer = () => answered(new Map());
    for (let i = 0; i < 3; i++) expect(await submit(pool)).toBe('grpc://b:1');
    a.respondAgain();
    a.answer = () => answered(new Map());
    await clock.advance(1000);
    expect([await submit(pool), await submit(pool)]).toContain('grpc://a:1');
  });

  test('does not mark a peer unavailable while its check is in flight', async () => {
    // Root cause: peers that had not responded when the first peer was ready counted as unavailable: with several
    // URLs always all but one.
    let answer = () => {};
    b.checkReady = () =>
      new Promise<void>((resolve) => {
        answer = resolve;
      });
    for (const peer of [a, b]) peer.answer = () => answered(new Map());
    const backends = backendsOf([a, b]);
    const pool = batcherOf(backends);
    expect(await backends.start()).toBe(a);
    await settled();
    for (let i = 0; i < 2; i++) expect(await submit(pool)).toBe('grpc://a:1');
    answer();
    await settled();
    expect(new Set([await submit(pool), await submit(pool)])).toEqual(new Set(['grpc://a:1', 'grpc://b:1']));
    expect(log).toEqual([]);
  });

  test('leaves no timer after close()', async () => {
    // Root cause: close() did not end the pause between two checks.
    a.isReady = false;
    const pool = backendsOf([a, b]);
    b.isReady = false;
    const failing = expect(pool.start()).rejects.toMatchObject({ code: 'CLOSED' });
    await settled();
    await pool.close();
    await settled();
    await failing;
    expect(clock.pendingTimers).toBe(0);
  });

  test('ends on close()', async () => {
    a.isReady = false;
    const pool = backendsOf([a]);
    const failing = expect(pool.start()).rejects.toMatchObject({ code: 'CLOSED' });
    await settled();
    await pool.close();
    await clock.advance(1000);
    await failing;
    expect(a.isClosed).toBe(true);
  });
});
