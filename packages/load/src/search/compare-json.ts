/** A comparison for programs. */
import type { Comparison } from './compare.js';
import { compareAnswer } from './compare-text.js';

export function compareJson(comparison: Comparison): Record<string, unknown> {
  const { a, b, pairs, requestsPerBlock, seed, targetLatencyMs, metrics, differs, warnings } = comparison;
  return {
    version: 1,
    differs,
    answer: compareAnswer(comparison),
    a,
    b,
    pairs,
    requests_per_block: requestsPerBlock,
    seed,
    target_latency_ms: targetLatencyMs ?? null,
    metrics: metrics.map((metric) => ({
      name: metric.name,
      a: metric.a,
      b: metric.b,
      difference: metric.mean,
      // JSON has no infinity: null is an end that nothing is known of.
      interval: [finite(metric.low), finite(metric.high)],
      differs: metric.differs,
      differences: metric.differences,
    })),
    warnings,
  };
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
