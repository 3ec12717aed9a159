/** The model and its batcher. All endpoints share this one module, so their requests share batches. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Batcher, BatchwiseError } from 'batchwise';

const CENTRES = {
  setosa: [5, 3.4, 1.5, 0.2],
  versicolor: [5.9, 2.8, 4.3, 1.3],
  virginica: [6.6, 3, 5.6, 2],
};

/** Stands for a model on a GPU: 20 ms per batch of up to 8 flowers. */
export const model = {
  async predict(flowers: number[][], signal: AbortSignal): Promise<string[]> {
    await sleep(20, undefined, { signal });
    return flowers.map(nearestSpecies);
  },
};

export const batcher = new Batcher((flowers: number[][], { signal }) => model.predict(flowers, signal), {
  name: 'iris',
  maxBatchSize: 8,
  targetLatencyMs: 100,
  timeoutMs: 1000,
  maxQueueSize: 100,
});

/** Rejects with an error whose status is 400 (bad body), 429 (overload) or 504 (deadline). */
export async function classify(body: unknown, signal: AbortSignal): Promise<{ species: string }> {
  return { species: await batcher.submit(measuresOf(body), { signal }) };
}

function measuresOf(body: unknown): number[] {
  const measures =
    typeof body === 'object' && body !== null && 'measures' in body ? body.measures : undefined;
  if (Array.isArray(measures) && measures.length === 4 && measures.every(Number.isFinite)) return measures;
  const got = body === undefined ? 'no JSON' : JSON.stringify(body).slice(0, 100);
  throw new BatchwiseError('INVALID_ITEM', `Expected {"measures": [four numbers]}, got ${got}.`);
}

function nearestSpecies(flower: number[]): string {
  const distances = Object.entries(CENTRES).map(([species, centre]) => ({
    species,
    distance: Math.hypot(...centre.map((value, i) => value - (flower[i] ?? 0))),
  }));
  return distances.reduce((a, b) => (b.distance < a.distance ? b : a)).species;
}
