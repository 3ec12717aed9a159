/** How simulated callers come: by themselves at some rate, or each after the answer to its last call. */
import { exponential, lognormal, type Random } from './random.js';

/** Callers who come whatever happens. The generator makes the times, in order. */
export interface OpenArrivals {
  readonly kind: 'open';
  readonly name: string;
  /** The rate, if they know nothing of each other: there is an optimum for those. */
  readonly poissonPerMs?: number;
  /** Gives the next time each time it is called; Infinity when there are no more. */
  times(random: Random): () => number;
}

/** A fixed number of users, each with one call at a time. */
export interface ClosedArrivals {
  readonly kind: 'closed';
  readonly name: string;
  readonly users: number;
  /** From an answer to the same user's next call: the mean. */
  readonly thinkMs: number;
  /** All think alike, or exponentially distributed. */
  readonly thinking: 'constant' | 'exponential';
}

export type Arrivals = OpenArrivals | ClosedArrivals;

export function poisson(perMs: number): OpenArrivals {
  return {
    kind: 'open',
    name: 'poisson',
    poissonPerMs: perMs,
    times: (random) => {
      let at = 0;
      return () => {
        at += exponential(random, 1 / perMs);
        return at;
      };
    },
  };
}

/** Gaps far more uneven than Poisson's: the standard deviation of their logarithm is `sigma`. */
export function lognormalGaps(perMs: number, sigma = 1.5): OpenArrivals {
  return {
    kind: 'open',
    name: 'lognormal',
    times: (random) => {
      let at = 0;
      return () => {
        at += lognormal(random, sigma) / perMs;
        return at;
      };
    },
  };
}

/**
 * Poisson whose rate changes between two states at random: `high` times the mean in one, so much less
 * in the other that the mean is kept. States last `stateMs` on average.
 */
export function mmpp(perMs: number, stateMs: number, high = 1.6): OpenArrivals {
  return modulated('mmpp', [perMs * high, perMs * (2 - high)], (random) => exponential(random, stateMs));
}

/** Twice the rate for `phaseMs`, then nothing for as long. */
export function onOff(perMs: number, phaseMs: number): OpenArrivals {
  return modulated('on-off', [2 * perMs, 0], () => phaseMs);
}

/** Phases of given rates that follow each other, over and over. */
export function phases(name: string, parts: readonly { perMs: number; ms: number }[]): OpenArrivals {
  const rates = parts.map(({ perMs }) => perMs);
  return modulated(name, rates, (_random, state) => (parts[state] as { ms: number }).ms);
}

function modulated(
  name: string,
  rates: readonly number[],
  stay: (random: Random, state: number) => number,
): OpenArrivals {
  return {
    kind: 'open',
    name,
    times: (random) => {
      let at = 0;
      let state = 0;
      let changeAt = stay(random, 0);
      return () => {
        for (;;) {
          const rate = rates[state] as number;
          const next = rate > 0 ? at + exponential(random, 1 / rate) : Number.POSITIVE_INFINITY;
          at = Math.min(next, changeAt);
          if (next <= changeAt) return at;
          state = (state + 1) % rates.length;
          changeAt += stay(random, state);
        }
      };
    },
  };
}

/** Requests that fan out: `size` calls spread evenly at random over `withinMs`, the bursts Poisson. */
export function fanOut(perMs: number, size = 16, withinMs = 0.5): OpenArrivals {
  return {
    kind: 'open',
    name: 'fan-out',
    times: (random) => {
      let burstAt = exponential(random, size / perMs);
      const waiting: number[] = [];
      return () => {
        // What the bursts that have begun still hold; the next one may begin before they are through.
        while (waiting.length === 0 || (waiting[0] as number) > burstAt) {
          for (let i = 0; i < size; i++) waiting.push(burstAt + withinMs * random());
          waiting.sort((a, b) => a - b);
          burstAt += exponential(random, size / perMs);
        }
        return waiting.shift() as number;
      };
    },
  };
}

/** Exactly these times, in milliseconds. */
export function recorded(name: string, times: readonly number[]): OpenArrivals {
  return {
    kind: 'open',
    name,
    times: () => {
      let next = 0;
      return () => times[next++] ?? Number.POSITIVE_INFINITY;
    },
  };
}

export function closedLoop(
  users: number,
  thinkMs: number,
  thinking: ClosedArrivals['thinking'] = 'exponential',
): ClosedArrivals {
  return { kind: 'closed', name: 'closed', users, thinkMs, thinking };
}
