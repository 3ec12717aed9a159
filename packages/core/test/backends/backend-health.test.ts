/** When a backend gets batches: the state machine, on virtual time. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BackendHealth, type StartedBatch } from '../../src/backends/backend-health.js';

const settings = { maxFailures: 3, backOffMs: 1000, maxBackOffMs: 30_000 };
const reason = new Error('no response');
const healthOf = (hasProbe = false) => new BackendHealth(settings, hasProbe);

function started(health: BackendHealth, now: number): StartedBatch {
  const batch = { ejections: 0, isTrial: false };
  health.started(batch, now);
  return batch;
}

function fail(health: BackendHealth, times: number, now: number): void {
  for (let i = 0; i < times; i++) health.failed(started(health, now), reason, now);
}

describe('a backend', () => {
  test('is ejected after the given number of consecutive failures', () => {
    const health = healthOf();
    fail(health, 2, 0);
    health.succeeded(started(health, 0));
    fail(health, 2, 0);
    expect(health.state).toBe('ready');
    fail(health, 1, 0);
    expect(health).toMatchObject({ state: 'ejected', ejections: 1, lastError: reason });
    expect(health.isOut(999)).toBe(true);
  });

  test('gets one trial batch after the back-off, and is ready when the trial succeeds', () => {
    const health = healthOf();
    fail(health, 3, 0);
    expect([health.isTrialDue(999), health.isTrialDue(1000)]).toEqual([false, true]);
    const trial = started(health, 1000);
    expect(trial.isTrial).toBe(true);
    expect([health.isTrialDue(1000), health.isOut(1000)]).toEqual([false, false]);
    health.succeeded(trial);
    expect(health).toMatchObject({ state: 'ready', lastError: undefined, failures: 0 });
  });

  test('gets another trial batch when the first takes longer than the back-off', () => {
    const health = healthOf();
    fail(health, 3, 0);
    started(health, 1000);
    expect([health.isTrialDue(1999), health.isTrialDue(2000)]).toEqual([false, true]);
  });

  test('is ejected for twice as long after each trial that fails, up to a limit', () => {
    const health = healthOf();
    fail(health, 3, 0);
    const pauses: number[] = [];
    let now = 0;
    for (let i = 0; i < 7; i++) {
      pauses.push(health.retryAt - now);
      now = health.retryAt;
      health.failed(started(health, now), reason, now);
    }
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  test('gets its next trial at once if all callers of the last trial had cancelled', () => {
    const health = healthOf();
    fail(health, 3, 0);
    health.forgotten(started(health, 1000), 1010);
    expect(health.isTrialDue(1010)).toBe(true);
  });

  test('ignores results of batches that were started before its ejection', () => {
    const health = healthOf();
    const before = [started(health, 0), started(health, 0)] as const;
    fail(health, 3, 0);
    health.succeeded(before[0]);
    expect(health.state).toBe('ejected');
    health.succeeded(started(health, 1000));
    health.failed(before[1], reason, 1000);
    expect(health.failures).toBe(0);
  });

  test('that is unhealthy by its health check stays out until the health check says otherwise', () => {
    const health = healthOf();
    health.becomeUnhealthy(reason, false, 0);
    expect(health.isTrialDue(1e9)).toBe(false);
    health.succeeded(started(health, 1e9)); // a batch for lack of a ready backend
    expect(health.state).toBe('ejected');
    health.becomeHealthy();
    expect(health.state).toBe('ready');
  });

  test('ejected by failures is ejected again by its first failure after a health check, for twice as long', () => {
    const health = healthOf();
    fail(health, 3, 0);
    health.becomeUnhealthy(reason, false, 0);
    health.becomeHealthy();
    fail(health, 1, 10);
    expect(health).toMatchObject({ state: 'ejected', retryAt: 2010 });
  });

  test('that was unhealthy by its health check only is ejected after the usual number of failures', () => {
    const health = healthOf();
    health.becomeUnhealthy(reason, false, 0);
    health.becomeHealthy();
    fail(health, 2, 10);
    expect(health.state).toBe('ready');
    fail(health, 1, 10);
    expect(health).toMatchObject({ state: 'ejected', retryAt: 1010 });
  });

  test('that was not ready at the start is ejected after the usual number of failures', () => {
    const health = healthOf(true);
    health.startUnhealthy(true, 0);
    health.becomeHealthy();
    fail(health, 2, 10);
    expect(health.state).toBe('ready');
  });

  test('with a probe gets no trial batch, and is probed more often than trials would run', () => {
    const health = healthOf(true);
    fail(health, 3, 0);
    expect([health.isTrialDue(1000), health.isProbeDue(1000), health.isOut(1000)]).toEqual([
      false,
      true,
      true,
    ]);
    for (const pause of [2000, 4000, 5000, 5000]) {
      health.probeFailed(reason, 5000, 0);
      expect(health.retryAt).toBe(pause);
    }
    health.becomeHealthy();
    expect(health.state).toBe('ready');
  });

  test('is doubtful after a failure, longer after each further one, and not after a success', () => {
    const health = healthOf();
    fail(health, 1, 5);
    expect(health.doubtfulUntil).toBeCloseTo(5 + 1000 / 3);
    fail(health, 1, 5);
    expect(health.doubtfulUntil).toBeCloseTo(5 + 2000 / 3);
    health.succeeded(started(health, 6));
    expect(health.doubtfulUntil).toBe(Number.NEGATIVE_INFINITY);
  });

  test('that drains is never ready again', () => {
    const health = healthOf();
    health.drain();
    health.becomeUnhealthy(reason, false, 0);
    health.becomeHealthy();
    expect(health.state).toBe('draining');
  });
});

describe('an outlier', () => {
  const after = (errors: number, successes: number) => {
    const health = healthOf();
    for (let i = 0; i < errors; i++) health.answeredWithErrors(started(health, 0), reason, 0);
    for (let i = 0; i < successes; i++) health.succeeded(started(health, 0));
    return health;
  };

  test('is a backend whose batches fail while those of the others succeed', () => {
    expect(after(10, 0).isOutlier([after(0, 10)])).toBe(true);
  });

  test('is not a backend whose batches fail as often as those of the others', () => {
    expect(after(10, 0).isOutlier([after(10, 0)])).toBe(false);
  });

  test('is not a single backend, or one with few batches', () => {
    expect(after(10, 0).isOutlier([])).toBe(false);
    expect(after(9, 0).isOutlier([after(0, 10)])).toBe(false);
    expect(after(10, 0).isOutlier([after(0, 9)])).toBe(false);
  });

  test('is never ejected without a limit of failures', () => {
    const never = new BackendHealth({ ...settings, maxFailures: Number.POSITIVE_INFINITY });
    for (let i = 0; i < 10; i++) never.answeredWithErrors(started(never, 0), reason, 0);
    expect(never.isOutlier([after(0, 10)])).toBe(false);
  });

  test('is ejected again by an error response in its trial', () => {
    const health = after(10, 0);
    health.ejectAsOutlier(reason, 0);
    health.answeredWithErrors(started(health, 1000), reason, 1000);
    expect(health).toMatchObject({ state: 'ejected', retryAt: 3000 });
  });
});

type Event = readonly ['start' | 'succeed' | 'fail' | 'errors' | 'forget' | 'sick' | 'well', number];

const events = fc.array(
  fc.tuple(fc.constantFrom('start', 'succeed', 'fail', 'errors', 'forget', 'sick', 'well'), fc.nat(3000)),
) as fc.Arbitrary<Event[]>;

test('for any events, an ejected backend gets at most one trial per back-off, and becomes ready again', () => {
  const property = fc.property(events, fc.boolean(), (all, hasProbe) => {
    const health = healthOf(hasProbe);
    const running: StartedBatch[] = [];
    let now = 0;
    let triedAt = Number.NEGATIVE_INFINITY;
    let isSick = false;
    for (const [event, pauseMs] of all) {
      now += pauseMs;
      const { ejections } = health;
      const batch = event === 'start' ? undefined : running.shift();
      if (event === 'sick') {
        health.becomeUnhealthy(reason, false, now);
        isSick = !hasProbe;
      } else if (event === 'well') {
        health.becomeHealthy();
        isSick = false;
      } else if (event === 'start') {
        if (health.state === 'ejected' && !health.isTrialDue(now)) continue;
        if (health.state === 'ejected') {
          expect(hasProbe || isSick).toBe(false);
          expect(now - triedAt).toBeGreaterThanOrEqual(settings.backOffMs);
          triedAt = now;
        }
        running.push(started(health, now));
      } else if (batch !== undefined) {
        if (event === 'succeed') health.succeeded(batch);
        else if (event === 'fail') health.failed(batch, reason, now);
        else if (event === 'errors') health.answeredWithErrors(batch, reason, now);
        else {
          if (batch.isTrial) triedAt = Number.NEGATIVE_INFINITY; // does not count
          health.forgotten(batch, now);
        }
      }
      if (health.ejections > ejections) triedAt = Number.NEGATIVE_INFINITY;
      if (health.state === 'ejected') expect(health.retryAt - now).toBeGreaterThan(isSick ? 1e9 : -1e9);
      else expect(health.failures).toBeLessThan(settings.maxFailures);
    }
    if (health.state === 'ready') return;
    if (isSick || hasProbe) health.becomeHealthy();
    else {
      now = Math.max(now, health.retryAt);
      expect(health.isTrialDue(now)).toBe(true);
      health.succeeded(started(health, now));
    }
    expect(health.state).toBe('ready');
  });
  fc.assert(property, { numRuns: 1000 });
});

// Root cause: the doubled back-off was cut to the longest one, even where the first was longer.
test.each(['trial batches', 'probes'])('a first back-off above the longest one is kept by %s', (by) => {
  const health = new BackendHealth(
    { maxFailures: 1, backOffMs: 60_000, maxBackOffMs: 30_000 },
    by === 'probes',
  );
  fail(health, 1, 0);
  for (let now = health.retryAt; now < 300_000; now = health.retryAt) {
    if (by === 'probes') health.probeFailed(reason, 5000, now);
    else fail(health, 1, now);
    expect(health.retryAt - now).toBe(60_000);
  }
});
