/** The cost that a backend pads a batch to: the next of its sizes, or its own beyond the largest. */
export function paddedTo(batchSizes: readonly number[], cost: number): number {
  let low = 0;
  let high = batchSizes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((batchSizes[middle] as number) < cost) low = middle + 1;
    else high = middle;
  }
  return batchSizes[low] ?? cost;
}
