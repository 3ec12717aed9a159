import { VirtualClock } from 'batchwise';
import { beforeEach, describe, expect, test } from 'vitest';
import { CircuitBreaker } from '../../src/upstream/circuit-breaker.js';

let clock: VirtualClock;
let changes: string[];
const down = new Error('down');

function breakerWith(probe?: () => Promise<void>): CircuitBreaker {
  const breaker: CircuitBreaker = new CircuitBreaker({
    clock,
    maxFailures: 3,
    cooldownMs: 1000,
    probe,
    onChange: () => changes.push(breaker.state),
  });
  return breaker;
}

const failing = (breaker: CircuitBreaker) => breaker.fail(breaker.begin(), down);
const tripped = (breaker: CircuitBreaker) => {
  for (let i = 0; i < 3; i++) failing(breaker);
  return breaker;
};

/** Waits until the result of a probe is processed. */
const told = () => clock.settle();

beforeEach(() => {
  clock = new VirtualClock();
  changes = [];
});

describe('a circuit breaker', () => {
  test('allows all calls until maxFailures consecutive failures', () => {
    const breaker = breakerWith();
    failing(breaker);
    failing(breaker);
    breaker.succeed(breaker.begin());
    failing(breaker);
    failing(breaker);
    expect(breaker.allowsCall).toBe(true);
    failing(breaker);
    expect(breaker.allowsCall).toBe(false);
    expect(breaker.lastError).toBe(down);
    expect(changes).toEqual(['open']);
  });

  test('reports the time until the next trial', async () => {
    const breaker = tripped(breakerWith());
    expect(breaker.retryAfterMs).toBe(1000);
    await clock.advance(400);
    expect(breaker.retryAfterMs).toBe(600);
  });

  test('allows one trial after the cooldown, and closes when the trial succeeds', async () => {
    const breaker = tripped(breakerWith());
    await clock.advance(999);
    expect(breaker.state).toBe('open');
    await clock.advance(1);
    expect(breaker.allowsCall).toBe(true);
    const trial = breaker.begin();
    expect(breaker.allowsCall).toBe(false);
    breaker.succeed(trial);
    expect(breaker.state).toBe('closed');
    expect(breaker.allowsCall).toBe(true);
  });

  test('doubles the cooldown after each failed trial, up to 30 s', async () => {
    const breaker = tripped(breakerWith());
    const waits: number[] = [];
    for (let i = 0; i < 7; i++) {
      waits.push(breaker.retryAfterMs);
      await clock.advance(breaker.retryAfterMs);
      failing(breaker);
    }
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  test('allows another trial when the callers of the trial have gone', async () => {
    const breaker = tripped(breakerWith());
    await clock.advance(1000);
    breaker.forget(breaker.begin());
    expect(breaker.state).toBe('half-open');
    expect(breaker.allowsCall).toBe(true);
  });

  test('probes the upstream first if there is a probe', async () => {
    let isUp = false;
    let asked = 0;
    const breaker = tripped(
      breakerWith(async () => {
        asked += 1;
        if (!isUp) throw new Error('still down');
      }),
    );
    await clock.advance(1000);
    await told();
    expect([asked, breaker.state, breaker.lastError?.message]).toEqual([1, 'open', 'still down']);
    isUp = true;
    await clock.advance(2000);
    await told();
    expect([asked, breaker.state]).toEqual([2, 'closed']);
  });

  test('opens again on the first failure after a successful probe', async () => {
    const breaker = tripped(breakerWith(async () => {}));
    await clock.advance(1000);
    await told();
    expect(breaker.state).toBe('closed');
    failing(breaker);
    expect([breaker.state, breaker.retryAfterMs]).toEqual(['open', 2000]);
    await clock.advance(2000);
    await told();
    breaker.succeed(breaker.begin());
    failing(breaker);
    expect(breaker.state).toBe('closed');
  });

  test('ignores calls that started before it opened', async () => {
    // Root cause: results were not tied to an opening, so a call from before freed the slot of the trial, or ended
    // the trial.
    const breaker = breakerWith();
    const old = [breaker.begin(), breaker.begin(), breaker.begin()] as const;
    tripped(breaker);
    await clock.advance(1000);
    const trial = breaker.begin();
    breaker.forget(old[0]);
    expect(breaker.allowsCall).toBe(false);
    breaker.succeed(old[1]);
    expect(breaker.state).toBe('half-open');
    breaker.fail(old[2], down);
    expect(breaker.state).toBe('half-open');
    breaker.succeed(trial);
    expect(breaker.state).toBe('closed');
  });

  test('allows another trial when the trial takes too long', async () => {
    // Root cause: a trial blocked all calls until it ended, and a trial that hangs lasts for the whole timeout.
    const breaker = tripped(breakerWith());
    await clock.advance(1000);
    const first = breaker.begin();
    await clock.advance(999);
    expect(breaker.allowsCall).toBe(false);
    await clock.advance(1);
    expect(breaker.allowsCall).toBe(true);
    breaker.begin();
    expect(breaker.allowsCall).toBe(false);
    breaker.succeed(first);
    expect(breaker.state).toBe('closed');
  });

  test('probes immediately when a connection is established', async () => {
    const breaker = tripped(breakerWith(async () => {}));
    breaker.probeNow();
    await told();
    expect(breaker.state).toBe('closed');
    expect(clock.now()).toBe(0);
  });

  test('sets no timer after close()', async () => {
    let asked = 0;
    const breaker = tripped(
      breakerWith(async () => {
        asked += 1;
      }),
    );
    breaker.close();
    await clock.advance(100_000);
    breaker.trip(down);
    await clock.advance(100_000);
    await told();
    expect(asked).toBe(0);
  });
});
