/**
 * One of several groups or backends, and its curve: the curve that all of them share until its durations differ from
 * that, as with groups by model or by length, or with a CPU next to a GPU. Equals so learn as quickly as one.
 */
import { MEMORY, SURE_WEIGHT } from './curve-table.js';
import { CERTAIN_DEVIATIONS, type ServiceCurve } from './service-curve.js';

/**
 * The least factor from the shared curve that makes a curve a different one. With 1.4, the mean latency of two backends
 * that differ by 1 to 2 is 0.7 % higher.
 */
const DIFFERENT_LOG_RATIO = Math.log(1.2);

export class CurveOwner {
  /** Learned from its batches only, from the first on. */
  own: ServiceCurve | undefined = undefined;
  /** It uses its own curve. */
  isSeparate = false;
  readonly #shared: ServiceCurve;
  /** Batches, mean and variance of ln(duration ÷ prediction of the shared curve). */
  #batches = 0;
  #mean = 0;
  #variance = 0;

  constructor(shared: ServiceCurve) {
    this.#shared = shared;
  }

  get curve(): ServiceCurve {
    return this.isSeparate && this.own !== undefined ? this.own : this.#shared;
  }

  /** Called before the shared curve records the batch. */
  record(cost: number, durationMs: number, now: number): void {
    this.own ??= this.#shared.copy();
    this.own.record(cost, durationMs, now);
    const logRatio = Math.log(durationMs / (this.#shared.mean(cost) ?? 0));
    if (this.isSeparate || !Number.isFinite(logRatio)) return;
    this.#batches = Math.min(MEMORY, this.#batches + 1);
    const difference = logRatio - this.#mean;
    this.#mean += difference / this.#batches;
    this.#variance += (difference ** 2 * (1 - 1 / this.#batches) - this.#variance) / this.#batches;
    const error = CERTAIN_DEVIATIONS * Math.sqrt(this.#variance / this.#batches);
    if (this.#batches > SURE_WEIGHT && Math.abs(this.#mean) > Math.max(DIFFERENT_LOG_RATIO, error))
      this.separate();
  }

  /** Stops using the shared curve. */
  separate(): void {
    this.own ??= this.#shared.copy();
    this.isSeparate = true;
  }
}
