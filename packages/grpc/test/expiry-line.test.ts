import { VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Expiring, ExpiryLine } from '../src/expiry-line.js';

class Entry implements Expiring {
  expiresAt = 0;
  before: Expiring | undefined;
  after: Expiring | undefined;
  expiredAt: number | undefined;
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  expire(): void {
    expect(this.expiredAt).toBeUndefined();
    this.expiredAt = this.#clock.now();
  }
}

test('whoever stays expires, not before its time and not much after; whoever leaves does not', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ pauseMs: fc.nat(60), leaves: fc.option(fc.nat(10), { nil: undefined }) }), {
        maxLength: 30,
      }),
      async (plan) => {
        const clock = new VirtualClock();
        const line = new ExpiryLine(clock, 100);
        const entries: Entry[] = [];
        const joined: number[] = [];
        const left = new Set<Entry>();
        for (const { pauseMs, leaves } of plan) {
          const entry = new Entry(clock);
          line.join(entry);
          entries.push(entry);
          joined.push(clock.now());
          const leaver = leaves === undefined ? undefined : entries[leaves];
          if (leaver !== undefined && leaver.expiredAt === undefined) {
            line.leave(leaver);
            line.leave(leaver);
            left.add(leaver);
          }
          await clock.advance(pauseMs);
        }
        await clock.advance(200);
        for (const [i, entry] of entries.entries()) {
          if (left.has(entry)) expect(entry.expiredAt).toBeUndefined();
          else {
            expect(entry.expiredAt).toBeGreaterThanOrEqual((joined[i] as number) + 100);
            expect(entry.expiredAt).toBeLessThanOrEqual((joined[i] as number) + 125);
          }
        }
        expect(clock.pendingTimers).toBe(0);
      },
    ),
    { numRuns: 50 },
  );
});
