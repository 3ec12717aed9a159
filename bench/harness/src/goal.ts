/** What a figure should come to. */
export interface Goal {
  readonly text: string;
  isMet(median: number): boolean;
}

export function atLeast(bound: number, digits?: number): Goal {
  return { text: `≥ ${written(bound, digits)}`, isMet: (median) => median >= bound };
}

export function atMost(bound: number, digits?: number): Goal {
  return { text: `≤ ${written(bound, digits)}`, isMet: (median) => median <= bound };
}

export function within(low: number, high: number): Goal {
  return { text: `${low}–${high}`, isMet: (median) => median >= low && median <= high };
}

/** `✓` or `✗`, and nothing where there is no goal. */
export function markOf(goal: Goal | undefined, median: number): string {
  if (goal === undefined) return '';
  return goal.isMet(median) ? '✓' : '✗';
}

function written(bound: number, digits: number | undefined): string {
  return digits === undefined ? String(bound) : bound.toFixed(digits);
}
