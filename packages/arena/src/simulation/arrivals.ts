/** Arrival processes: open (independent of the responses) and closed (each user waits for its response). */
import { exponential, lognormal, type Random } from './random.js';

/** Arrivals that do not depend on the responses. */
export interface OpenArrivals {
  readonly kind: 'open';
  readonly name: string;
  /** The rate of a Poisson process, for which the optimum is known; undefined for other processes. */
  readonly poissonPerMs?: number;
  /** Each call of the returned function returns the next arrival time, in order; Infinity after the last one. */
  times(random: Random): () => number;
}

/** A fixed number of users, each with one request in flight at a time. */
export interface ClosedArrivals {
  readonly kind: 'closed';
  readonly name: string;
  readonly users: number;
  /** Mean time from a response to the next request of the same user. */
  readonly thinkMs: number;
  /** Distribution of the think time. */
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

/** Lognormal gaps; `sigma` is the standard deviation of their logarithm. */
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
 * Markov-modulated Poisson process with two states of equal mean length `stateMs`. The rate is `high` × the mean
 * in one state and (2 − `high`) × the mean in the other.
 */
export function mmpp(perMs: number, stateMs: number, high = 1.6): OpenArrivals {
  return modulated('mmpp', [perMs * high, perMs * (2 - high)], (random) => exponential(random, stateMs));
}

/** Twice the rate for `phaseMs`, then nothing for as long. */
export function onOff(perMs: number, phaseMs: number): OpenArrivals {
  return modulated('on-off', [2 * perMs, 0], () => phaseMs);
}

/** Phases of given rates, repeated in order. */
export function phases(name: string, parts: readonly { perMs: number; ms: number }[]): OpenArrivals {
  const rates = parts.map(({ perMs }) => perMs);
  return modulated(name, rates, (_random, state) => (parts[state] as { ms: number }).ms);
}

function modulated(
  name: string,
  rates: readonly number[],
  stateMs: (random: Random, state: number) => number,
): OpenArrivals {
  return {
    kind: 'open',
    name,
    times: (random) => {
      let at = 0;
      let state = 0;
      let changeAt = stateMs(random, 0);
      return () => {
        for (;;) {
          const rate = rates[state] as number;
          const next = rate > 0 ? at + exponential(random, 1 / rate) : Number.POSITIVE_INFINITY;
          at = Math.min(next, changeAt);
          if (next <= changeAt) return at;
          state = (state + 1) % rates.length;
          changeAt += stateMs(random, state);
        }
      };
    },
  };
}

/** Poisson bursts of `size` items, each uniformly distributed over `withinMs`. */
export function fanOut(perMs: number, size = 16, withinMs = 0.5): OpenArrivals {
  return {
    kind: 'open',
    name: 'fan-out',
    times: (random) => {
      let burstAt = exponential(random, size / perMs);
      const waiting: number[] = [];
      return () => {
        // Bursts may overlap: the next one may begin before the items of the current one have arrived.
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

/** The given arrival times, in milliseconds. */
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
