/** How long batches take by size, from the responses of a run: for `batchwise plan --curve` and scenario files. */
import { LoadError } from '../load-error.js';
import type { BatchSizeFigures } from '../report/load-report.js';

/** Milliseconds by batch size, as JSON: `{"1": 5.1, "8": 5.8}`. */
export type ServiceCurve = Readonly<Record<string, number>>;

export interface CurveOptions {
  /** Sizes with fewer batches than this are left out. @default 5 */
  readonly leastBatches?: number;
}

const DEFAULT_LEAST_BATCHES = 5;
/** A curve file may have so many points; a run with more sizes keeps the most frequent ones. */
const MOST_POINTS = 1000;

/**
 * Mean compute time by batch size. A mean over requests is the mean over batches here: all requests of a batch have
 * the batch's compute time. A size that was seen in few batches is noise and is left out, unless all are. A larger
 * batch that came out quicker than a smaller one is pooled with it, each size weighted by its batches.
 *
 * @throws {LoadError} INVALID_OPTION: the responses tell no batch sizes or compute times
 */
export function serviceCurve(
  batchSizes: readonly BatchSizeFigures[],
  options: CurveOptions = {},
): ServiceCurve {
  const { leastBatches = DEFAULT_LEAST_BATCHES } = options;
  const told = batchSizes
    .filter(({ size, computeMs }) => size >= 1 && computeMs > 0 && Number.isFinite(computeMs))
    .map(({ size, requests, computeMs }) => ({ size, ms: computeMs, batches: requests / size }));
  if (told.length === 0) {
    const expected = 'responses with the headers batchwise-batch-size and batchwise-compute-ms';
    throw new LoadError('INVALID_OPTION', `service curve: expected ${expected}, got none.`);
  }
  const frequent = told.filter(({ batches }) => batches >= leastBatches);
  const used = (frequent.length > 0 ? frequent : told)
    .toSorted((a, b) => b.batches - a.batches)
    .slice(0, MOST_POINTS)
    .sort((a, b) => a.size - b.size);
  const curve: Record<string, number> = {};
  for (const { size, ms } of rising(used)) curve[size] = Number(ms.toPrecision(6));
  return curve;
}

interface WeightedPoint {
  readonly size: number;
  readonly ms: number;
  readonly batches: number;
}

/** Isotonic regression by pooling adjacent violators, as the arena's `monotone`, with weights. */
function rising(points: readonly WeightedPoint[]): { readonly size: number; readonly ms: number }[] {
  const pools: { ms: number; batches: number; sizes: number[] }[] = [];
  for (const { size, ms, batches } of points) {
    let pool = { ms, batches, sizes: [size] };
    for (let last = pools.at(-1); last !== undefined && last.ms > pool.ms; last = pools.at(-1)) {
      const weight = last.batches + pool.batches;
      pool = {
        ms: (last.ms * last.batches + pool.ms * pool.batches) / weight,
        batches: weight,
        sizes: [...last.sizes, ...pool.sizes],
      };
      pools.pop();
    }
    pools.push(pool);
  }
  return pools.flatMap(({ ms, sizes }) => sizes.map((size) => ({ size, ms })));
}
