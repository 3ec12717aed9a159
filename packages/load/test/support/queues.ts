/** Simulated servers with known behaviour. Times in milliseconds. */
import type { Served, Server } from './simulated-runs.js';

/** One server, first come first served, with exponential service times: M/M/1 under Poisson arrivals. */
export function exponentialServer(meanMs: number): Server {
  return queue((random) => -Math.log(1 - random()) * meanMs);
}

/** M/D/1 under Poisson arrivals. */
export function fixedServer(ms: number): Server {
  return queue(() => ms);
}

export function queue(serviceMs: (random: () => number, at: number) => number): Server {
  return (arrivals, random) => {
    let freeAt = 0;
    return arrivals.map((at): Served => {
      freeAt = Math.max(freeAt, at) + serviceMs(random, at);
      return { endedAt: freeAt };
    });
  };
}

/** Takes what waits, up to `most`, whenever it is free. */
export function batchServer(most: number, batchMs: (size: number) => number): Server {
  return (arrivals) => {
    const served: Served[] = [];
    for (let freeAt = 0; served.length < arrivals.length; ) {
      const startedAt = Math.max(freeAt, arrivals[served.length] as number);
      let size = 1;
      while (size < most && (arrivals[served.length + size] ?? Number.POSITIVE_INFINITY) <= startedAt) size++;
      freeAt = startedAt + batchMs(size);
      for (let i = 0; i < size; i++) served.push({ endedAt: freeAt });
    }
    return served;
  };
}
