/** Which part of the traffic a process makes: of arrivals, users and samples every `count`-th one, from `index` on. */
export interface Share {
  readonly index: number;
  readonly count: number;
}

export const WHOLE: Share = { index: 0, count: 1 };

/** Of a limit for all processes together; the limits of the parts add up to it. */
export function sharedLimit(limit: number, { index, count }: Share): number {
  return Math.floor(limit / count) + (index < limit % count ? 1 : 0);
}
