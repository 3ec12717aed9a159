/** One timer for any number of requests with the same time limit, exact to the millisecond. */
import { VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expiredReason, type Limited, TimeLimit } from '../src/targets/time-limit.js';

class Request implements Limited {
  expiresAt = 0;
  earlier: Limited | undefined;
  later: Limited | undefined;
  expiredAt: number | undefined;

  constructor(readonly clock: VirtualClock) {}

  expire(): void {
    this.expiredAt = this.clock.now();
  }
}

test('a request expires when its time is over, not before or after, unless it ends first', async () => {
  const request = fc.record({ startsAt: fc.nat(150), takesMs: fc.nat(200), isHandedOn: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 30 }), async (plans) => {
      const clock = new VirtualClock();
      const limit = new TimeLimit(clock, 100);
      const running = plans.map((plan) => ({ plan, request: new Request(clock) }));
      for (let now = 0; now <= 360; now++) {
        for (const one of running) {
          const { startsAt, takesMs, isHandedOn } = one.plan;
          if (startsAt === now) limit.start(one.request);
          if (isHandedOn && takesMs > 60 && startsAt + 50 === now) {
            const other = new Request(clock);
            limit.replace(one.request, other);
            one.request = other;
          }
          // One that ends in the millisecond in which its time is over may be told either way: not here.
          if (takesMs !== 100 && startsAt + takesMs === now) limit.end(one.request);
        }
        expect(clock.pendingTimers).toBeLessThanOrEqual(1);
        await clock.advance(1);
      }
      for (const {
        plan,
        request: { expiredAt },
      } of running) {
        expect(expiredAt).toBe(plan.takesMs < 100 ? undefined : plan.startsAt + 100);
      }
      expect(clock.pendingTimers).toBe(0);
    }),
    { numRuns: 10 },
  );
});

test('the reason names the limit in a unit that reads well', () => {
  expect([50, 1000, 1500].map(expiredReason)).toEqual([
    'no response within 50 ms',
    'no response within 1 s',
    'no response within 1.5 s',
  ]);
});
