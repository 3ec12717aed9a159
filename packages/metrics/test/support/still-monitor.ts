import type { DelayMonitor } from '../../src/loop-lag.js';

/** An event-loop monitor with programmed values. In nanoseconds. */
export class StillMonitor implements DelayMonitor {
  count = 0;
  max = 0;
  percentiles: Record<number, number> = {};
  resets = 0;
  isDisabled = false;

  percentile(percentile: number): number {
    return this.percentiles[percentile] ?? 0;
  }

  reset(): void {
    this.resets += 1;
    this.count = 0;
  }

  disable(): void {
    this.isDisabled = true;
  }

  /** The lag in seconds. */
  measured(p50: number, p99: number, max: number): void {
    const nanoseconds = (seconds: number) => (seconds + 0.02) * 1e9;
    this.count = 1;
    this.percentiles = { 50: nanoseconds(p50), 99: nanoseconds(p99) };
    this.max = nanoseconds(max);
  }
}
