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

const tripped = (breaker: CircuitBreaker) => {
  for (let i = 0; i < 3; i++) breaker.fail(down);
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
    breaker.fail(down);
    breaker.fail(down);
    breaker.succeed();
    breaker.fail(down);
    breaker.fail(down);
    expect(breaker.letsIn).toBe(true);
    breaker.fail(down);
    expect(breaker.letsIn).toBe(false);
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
    expect(breaker.letsIn).toBe(true);
    breaker.begin();
    expect(breaker.letsIn).toBe(false);
    breaker.succeed();
    expect(breaker.state).toBe('closed');
    expect(breaker.letsIn).toBe(true);
  });

  test('stays away twice as long after each try in vain, half a minute at most', async () => {
    const breaker = tripped(breakerWith());
    const waits: number[] = [];
    for (let i = 0; i < 7; i++) {
      waits.push(breaker.retryAfterMs);
      await clock.advance(breaker.retryAfterMs);
      breaker.begin();
      breaker.fail(down);
    }
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  test('lets another try when the one that did has lost its callers', async () => {
    const breaker = tripped(breakerWith());
    await clock.advance(1000);
    breaker.begin();
    breaker.forget();
    expect(breaker.state).toBe('half-open');
    expect(breaker.letsIn).toBe(true);
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
    expect([asked, breaker.state]).toEqual([2, 'half-open']);
  });

  test('looks at once when there are signs that the upstream is back', async () => {
    const breaker = tripped(breakerWith(async () => {}));
    breaker.lookNow();
    await told();
    expect(breaker.state).toBe('half-open');
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
