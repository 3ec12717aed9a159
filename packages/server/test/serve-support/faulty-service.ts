/** A service whose code fails where only its author is to blame. */
import { defineService, fn } from '@batchwise/server';
import { z } from 'zod';

export const service = defineService({
  name: 'Faulty',
  runners: {
    weighed: fn(async (items: { text?: string }[]) => items.map(({ text }) => text ?? ''), {
      batchable: true,
      costOf: ({ text }) => (text as string).length,
    }),
  },
  routes: (route) => [
    route.post('/weigh', {
      input: z.object({ text: z.string().optional() }),
      handler: async ({ text }, { runners }) => ({
        text: await runners.weighed.predict(text === undefined ? {} : { text }),
      }),
    }),
  ],
});
