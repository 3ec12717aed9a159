/** Labels beside the ends of lines: each as near to its line as the others allow. */

/**
 * Where to put labels that want to stand at these heights, at least `gap` apart and within the span: the
 * least total squared shift. Returned in the order given.
 */
export function spreadLabels(wanted: readonly number[], gap: number, top: number, bottom: number): number[] {
  const order = wanted
    .map((_, i) => i)
    .sort((a, b) => (wanted[a] as number) - (wanted[b] as number) || a - b);
  // With the i-th place shifted by i gaps, labels need only not pass each other: neighbours that would are
  // pooled and share their mean.
  const pools: { sum: number; count: number }[] = [];
  order.forEach((index, rank) => {
    let pool = { sum: (wanted[index] as number) - rank * gap, count: 1 };
    for (let last = pools.at(-1); last !== undefined && mean(last) > mean(pool); last = pools.at(-1)) {
      pool = { sum: last.sum + pool.sum, count: last.count + pool.count };
      pools.pop();
    }
    pools.push(pool);
  });
  const highest = Math.max(top, bottom - (wanted.length - 1) * gap);
  const places: number[] = [];
  let rank = 0;
  for (const pool of pools) {
    for (let i = 0; i < pool.count; i++, rank++) {
      places[order[rank] as number] = Math.min(Math.max(mean(pool), top), highest) + rank * gap;
    }
  }
  return places;
}

function mean({ sum, count }: { sum: number; count: number }): number {
  return sum / count;
}
