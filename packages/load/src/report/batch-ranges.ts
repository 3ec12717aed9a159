/** Batch sizes put together into a few ranges, where there are many of them. */
import type { BatchSizeFigures } from './load-report.js';

export interface BatchRange extends BatchSizeFigures {
  /** `4`, or `33–64`. */
  readonly label: string;
}

/** Sizes as they are where they are few enough, else ranges of equal width. The size of a range is its mean. */
export function batchRanges(sizes: readonly BatchSizeFigures[], mostRanges: number): BatchRange[] {
  if (sizes.length <= mostRanges) return sizes.map((one) => ({ ...one, label: String(one.size) }));
  const first = sizes[0]?.size ?? 0;
  const span = (sizes.at(-1)?.size ?? 0) - first + 1;
  const width = Math.ceil(span / mostRanges);
  const groups = new Map<number, BatchSizeFigures[]>();
  for (const one of sizes) {
    const group = Math.floor((one.size - first) / width);
    const known = groups.get(group);
    if (known === undefined) groups.set(group, [one]);
    else known.push(one);
  }
  return [...groups].map(([group, members]) => {
    const from = first + group * width;
    return { ...together(members), label: width === 1 ? String(from) : `${from}–${from + width - 1}` };
  });
}

function together(members: readonly BatchSizeFigures[]): BatchSizeFigures {
  const requests = members.reduce((sum, one) => sum + one.requests, 0);
  const mean = (of: (one: BatchSizeFigures) => number) =>
    members.reduce((sum, one) => sum + of(one) * one.requests, 0) / requests;
  return {
    size: mean(({ size }) => size),
    requests,
    latencyMs: mean(({ latencyMs }) => latencyMs),
    queueMs: mean(({ queueMs }) => queueMs),
    computeMs: mean(({ computeMs }) => computeMs),
  };
}
