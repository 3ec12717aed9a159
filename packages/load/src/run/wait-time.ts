/** How long a user pauses before its next task. */
import type { Random } from '@batchwise/arena';
import { z } from 'zod';
import type { WaitTime } from './traffic.js';

/** When the next task starts: its intended start. */
export function nextStartAt(wait: WaitTime, startedAt: number, endedAt: number, random: Random): number {
  switch (wait.kind) {
    case 'between':
      return endedAt + 1000 * (wait.min + (wait.max - wait.min) * random());
    case 'constant':
      return endedAt + 1000 * wait.seconds;
    case 'pacing':
      return Math.max(endedAt, startedAt + 1000 * wait.seconds);
  }
}

export function waitTimeText(wait: WaitTime): string {
  switch (wait.kind) {
    case 'between':
      return `between ${wait.min} s and ${wait.max} s`;
    case 'constant':
      return wait.seconds === 0 ? 'none' : `${wait.seconds} s`;
    case 'pacing':
      return `one task per ${wait.seconds} s`;
  }
}

const seconds = z.number('expected seconds from 0').min(0, 'expected seconds from 0');

export const waitTimeSchema = z.discriminatedUnion(
  'kind',
  [
    z
      .strictObject({ kind: z.literal('between'), min: seconds, max: seconds })
      .refine(({ min, max }) => min <= max, 'expected max not below min'),
    z.strictObject({ kind: z.literal('constant'), seconds }),
    z.strictObject({ kind: z.literal('pacing'), seconds }),
  ],
  'expected a wait time: between(min, max), constant(seconds) or pacing(seconds)',
);
