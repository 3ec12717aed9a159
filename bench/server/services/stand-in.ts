/** A stand-in for a GPU: takes the time that a batch took on one, and no CPU. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineService, fn } from '@batchwise/server';
import { z } from 'zod';

const CURVE = process.env.STAND_IN_CURVE ?? 'vit_l16_fp16_eager_h200';
const file = new URL('../../../packages/arena/curves/h200.json', import.meta.url);
const curves = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Record<string, { p50_ms: number }>>;
const points = Object.entries(curves[CURVE] ?? {})
  .map(([size, { p50_ms }]) => ({ size: Number(size), ms: p50_ms }))
  .sort((a, b) => a.size - b.size);
if (points.length === 0)
  throw new Error(`There is no curve ${CURVE} among ${Object.keys(curves).join(', ')}.`);

function durationMs(size: number): number {
  const above = points.findIndex((point) => point.size >= size);
  const high = points[above === -1 ? points.length - 1 : above] as { size: number; ms: number };
  const low = points[above - 1];
  if (low === undefined || high.size === size) return high.ms;
  return low.ms + ((high.ms - low.ms) * (size - low.size)) / (high.size - low.size);
}

export const service = defineService({
  runners: {
    model: fn(
      async (items: number[]) => {
        await sleep(durationMs(items.length));
        return items;
      },
      { batchable: true, batching: { maxBatchSize: 64 } },
    ),
  },
  routes: (route) => [
    route.post('/predict', {
      input: z.object({ x: z.number() }),
      handler: async ({ x }, { runners }) => ({ y: await runners.model.predict(x) }),
    }),
  ],
});
