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

/** What a probe told is known one turn of promises later. */
const told = () => clock.settle();

beforeEach(() => {
  clock = new VirtualClock();
  changes = [];
});

describe('a circuit breaker', () => {
  test('lets everything in until so many failures in a row', () => {
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

  test('says how long to stay away', async () => {
    const breaker = tripped(breakerWith());
    expect(breaker.retryAfterMs).toBe(1000);
    await clock.advance(400);
    expect(breaker.retryAfterMs).toBe(600);
  });

  test('lets one call try when its time is up, and closes when that is answered', async () => {
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

  test('stays away twice as long after each try in vain, half a minute at most', async () => {
    const breaker = tripped(breakerWith());
    const waits: number[] = [];
    for (let i = 0; i < 7; i++) {
      waits.push(breaker.retryAfterMs);
      await clock.advance(breaker.retryAfterMs);
      failing(breaker);
    }
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  test('lets another try when the one that did has lost its callers', async () => {
    const breaker = tripped(breakerWith());
    await clock.advance(1000);
    breaker.forget(breaker.begin());
    expect(breaker.state).toBe('half-open');
    expect(breaker.allowsCall).toBe(true);
  });

  test('asks the upstream first where it can be asked', async () => {
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

  test('opens again with the first failure after the upstream has said that it is well', async () => {
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

  test('is not moved by calls from before it opened', async () => {
    // Results had no owner: a call that began before freed the place of the one that tried, or ended the trial.
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

  test('lets another try when the one that does takes too long', async () => {
    // A trial held everybody off until it ended, and one that hangs does not for the whole time-out.
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

  test('looks at once when there are signs that the upstream is back', async () => {
    const breaker = tripped(breakerWith(async () => {}));
    breaker.probeNow();
    await told();
    expect(breaker.state).toBe('closed');
    expect(clock.now()).toBe(0);
  });

  test('sets no timer any more once it is closed for good', async () => {
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
