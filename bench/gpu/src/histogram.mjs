/** How often what latency was seen, to a tenth of a millisecond: small enough to be sent, exact enough to be merged. */
const STEP_MS = 0.1;

export class Histogram {
  #counts = new Map();
  total = 0;

  add(ms, count = 1) {
    const step = Math.floor(ms / STEP_MS);
    this.#counts.set(step, (this.#counts.get(step) ?? 0) + count);
    this.total += count;
  }

  merge(steps) {
    for (const [step, count] of steps) this.add((step + 0.5) * STEP_MS, count);
  }

  /** The upper end of the step in which the share lies; NaN of none. */
  percentile(share) {
    let left = share * this.total;
    for (const [step, count] of [...this.#counts].sort(([a], [b]) => a - b)) {
      left -= count;
      if (left <= 0) return (step + 1) * STEP_MS;
    }
    return Number.NaN;
  }

  toJSON() {
    return [...this.#counts];
  }
}
