/** Routes with the kinds of input that a request can make expensive: what a schema walks, and what it does not. */
import { defineService, fn } from '@batchwise/server';
import { z } from 'zod';

const flower = z.object({ sepal_length: z.number(), name: z.string().max(20).optional() });

export const service = defineService({
  name: 'Measured',
  runners: {
    echo: fn(async (items) => items, { batchable: true }),
  },
  routes: (route) => [
    route.post('/rows', {
      input: z.object({ rows: z.array(z.array(z.number())) }),
      handler: async ({ rows }) => ({ rows: rows.length }),
    }),
    route.post('/flowers', {
      input: z.array(flower),
      handler: async (flowers, { runners }) => ({ first: await runners.echo.predict(flowers[0] ?? null) }),
    }),
    route.post('/record', {
      input: z.record(z.string(), z.union([z.number(), z.string().regex(/^\d+$/), flower])),
      handler: async (record) => ({ keys: Object.keys(record).length }),
    }),
    route.post('/strict', {
      input: z.strictObject({ text: z.string().max(1000) }),
      handler: async ({ text }) => ({ text }),
    }),
    route.post('/any', { input: z.unknown(), handler: async (input) => ({ kind: typeof input }) }),
    route.post('/none', { handler: async (input) => ({ kind: typeof input }) }),
  ],
});
