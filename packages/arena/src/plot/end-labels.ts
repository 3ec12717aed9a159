/**
 * Positions of labels at the ends of lines: at least `gap` apart and within the span, with the minimum total squared
 * distance from the wanted positions. In the given order.
 */
export function spreadLabels(wanted: readonly number[], gap: number, top: number, bottom: number): number[] {
  const order = wanted
    .map((_, i) => i)
    .sort((a, b) => (wanted[a] as number) - (wanted[b] as number) || a - b);
  // With the i-th position shifted by i gaps, the constraint is that positions are ascending: isotonic regression.
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
