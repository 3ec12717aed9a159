/** How the two sides of a contender are started. */
import type { Load } from './closed-loop.js';
import type { Redis } from './redis.js';
import type { SideProcess } from './side-process.js';

export interface Sides {
  /** Its only line is a load report. */
  client(redis: Redis, load: Load): SideProcess;
  /** Its first line comes when it is ready, its last may be a handler report. */
  processor(redis: Redis, batchMs: number): SideProcess;
}
