/** Wait times of users, in seconds. */

import type { WaitTime } from '../run/traffic.js';
import { waitTimeSchema } from '../run/wait-time.js';
import { valid } from '../valid.js';

/** A pause of a random length after each task. */
export function between(min: number, max: number): WaitTime {
  return valid(waitTimeSchema, { kind: 'between', min, max }, 'between(min, max): ');
}

/** A pause of the same length after each task. */
export function constant(seconds: number): WaitTime {
  return valid(waitTimeSchema, { kind: 'constant', seconds }, 'constant(seconds): ');
}

/** A task starts at a fixed interval; after a longer task, the next one starts at once. */
export function pacing(seconds: number): WaitTime {
  return valid(waitTimeSchema, { kind: 'pacing', seconds }, 'pacing(seconds): ');
}
