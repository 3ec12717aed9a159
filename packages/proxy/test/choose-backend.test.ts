/** Which backend gets what: the rules alone, on candidates that are made up. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Candidate, chooseForBatch, chooseForCall, usableOf } from '../src/backends/choose-backend.js';

interface Made {
  readonly standing: 'ready' | 'connecting' | 'bad';
  readonly running: number;
  readonly openCalls: number;
  readonly waitMs: number;
}

const candidate = ({ standing, running, openCalls, waitMs }: Made): Candidate & Made =>
  ({
    standing: () => standing,
    running: { size: running },
    openCalls,
    waitMs,
    predictedWaitMs: () => waitMs,
  }) as unknown as Candidate & Made;

const anyCandidate = fc
  .record({
    standing: fc.constantFrom('ready' as const, 'connecting' as const, 'bad' as const),
    running: fc.nat(4),
    openCalls: fc.nat(4),
    waitMs: fc.integer({ min: 0, max: 100 }),
  })
  .map(candidate);

describe('those that may be used', () => {
  it('are never none, when there is any', () => {
    const property = fc.property(fc.array(anyCandidate, { minLength: 1 }), (all) => {
      expect(usableOf(all, 0).length).toBeGreaterThan(0);
    });
    fc.assert(property);
  });

  it('are the ready ones, else those that may be soon, else all', () => {
    const property = fc.property(fc.array(anyCandidate), (all) => {
      const of = (standing: string) => all.filter((one) => one.standing(0) === standing);
      const [best = all] = [of('ready'), of('connecting')].filter(({ length }) => length > 0);
      expect(usableOf(all, 0)).toEqual(best);
    });
    fc.assert(property);
  });
});

describe('a batch', () => {
  it('goes to none that has as many as it may have', () => {
    const property = fc.property(
      fc.array(anyCandidate),
      fc.integer({ min: 1, max: 4 }),
      fc.nat(),
      (all, most, turn) => {
        const chosen = chooseForBatch(all, 1, most, turn, 0);
        const free = all.filter(({ running }) => (running as unknown as { size: number }).size < most);
        if (chosen === undefined) expect(free).toEqual([]);
        else expect(free).toContain(chosen);
      },
    );
    fc.assert(property);
  });

  it('goes to the least loaded of the others', () => {
    const make = (waitMs: number, running: number) =>
      candidate({ standing: 'ready', openCalls: 0, waitMs, running });
    const all = [make(1, 2), make(90, 1), make(20, 1)];
    expect(chooseForBatch(all, 1, 2, 0, 0)?.waitMs).toBe(20);
  });
});

describe('a call', () => {
  it('goes to one with the fewest, batches included', () => {
    const property = fc.property(fc.array(anyCandidate, { minLength: 1 }), fc.nat(), (all, turn) => {
      const callsOf = ({ running, openCalls }: Candidate) => running.size + openCalls;
      const chosen = chooseForCall(all, turn);
      expect(chosen && callsOf(chosen)).toBe(Math.min(...all.map(callsOf)));
    });
    fc.assert(property);
  });

  it('goes nowhere when there is no backend', () => {
    expect(chooseForCall([], 3)).toBeUndefined();
  });
});
