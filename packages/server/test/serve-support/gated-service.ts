/** Doubles a number, when the gate of the test is open. */
import { defineService, fn } from '@batchwise/server';
import { z } from 'zod';
import type { Gate } from './gate.js';

export const service = defineService({
  name: 'Gated',
  runners: {
    doubler: fn(
      async (numbers: number[]) => {
        const { batchwiseTestGate: gate } = globalThis as { batchwiseTestGate?: Gate };
        gate?.entered(numbers);
        await gate?.opened;
        return numbers.map((number) => ({ doubled: 2 * number, company: numbers.length }));
      },
      { batchable: true, batching: { policy: 'greedy' } },
    ),
    /** Only equal numbers share a batch. */
    grouper: fn(
      async (numbers: number[]) => {
        const { batchwiseTestGate: gate } = globalThis as { batchwiseTestGate?: Gate };
        gate?.entered(numbers);
        await gate?.opened;
        return numbers;
      },
      { batchable: true, groupOf: (number) => number, batching: { policy: 'greedy' } },
    ),
  },
  routes: (route) => [
    route.post('/double', {
      input: z.object({ number: z.number() }),
      handler: ({ number }, { runners }) => runners.doubler.predict(number),
    }),
    route.post('/group', {
      input: z.object({ number: z.number() }),
      handler: ({ number }, { runners }) => runners.grouper.predict(number),
    }),
  ],
});
