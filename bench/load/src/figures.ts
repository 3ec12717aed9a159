/** What `npm run bench:load` measures. */
import type { Figure } from '@batchwise/bench-harness';
import { measureMemory } from './memory.js';
import { measureRates } from './rates.js';
import { measureStall } from './stall.js';
import { measureThroughput } from './throughput.js';

export const figures: readonly Figure[] = [
  {
    name: 'throughput',
    title: 'requests per CPU-second of the generator, 64 connections, small POST, response JSON checked',
    measure: measureThroughput,
  },
  {
    name: 'memory',
    title: 'memory per user, 20,000 users in one process that pause for 0.01 to 2 s',
    measure: measureMemory,
  },
  {
    name: 'rates',
    title: 'achieved rate against requested rate, constant and Poisson arrivals',
    measure: measureRates,
  },
  {
    name: 'stall',
    title: 'a server that stalls for a second: what the latencies show of it',
    measure: measureStall,
  },
];
