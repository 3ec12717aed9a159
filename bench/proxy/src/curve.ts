/** Durations of a batch by size: ViT-L/16, half precision, launched eagerly, on an H200; p50. */
const MEASURED: readonly (readonly [size: number, ms: number])[] = [
  [1, 7.1108],
  [2, 6.9691],
  [3, 6.8925],
  [4, 6.8627],
  [6, 6.8679],
  [8, 6.4611],
  [12, 6.9843],
  [16, 7.1078],
  [24, 7.4222],
  [32, 10.2475],
  [48, 14.4108],
  [64, 19.5987],
];

/** Linear between the measured sizes. */
export function batchMs(size: number): number {
  const at = MEASURED.findIndex(([measured]) => measured >= size);
  const upper = MEASURED[at];
  const lower = MEASURED[at - 1];
  if (upper === undefined) throw new RangeError(`expected a batch of at most 64, got ${size}`);
  if (lower === undefined) return upper[1];
  return lower[1] + ((upper[1] - lower[1]) * (size - lower[0])) / (upper[0] - lower[0]);
}
