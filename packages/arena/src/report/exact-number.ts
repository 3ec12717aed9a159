/** Six digits, as results are written in JSON; null for what there is not: the latency of no answers. */
export function exactNumber(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? Number(value.toPrecision(6)) : null;
}
