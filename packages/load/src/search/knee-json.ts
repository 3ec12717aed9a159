/** The result of a knee search for programs. */
import type { Knee } from './find-knee.js';
import { kneeAnswer } from './knee-text.js';

export function kneeJson(knee: Knee): Record<string, unknown> {
  const { kind, rate, interval, isConfirmed, limit, target, targetLatencyMs, share, from, to, seed, probes } =
    knee;
  return {
    version: 1,
    result: kind,
    answer: kneeAnswer(knee),
    knee_per_second: rate ?? null,
    interval_per_second: interval ?? null,
    is_confirmed: isConfirmed,
    generator_limit: limit ?? null,
    target,
    target_latency_ms: targetLatencyMs,
    share,
    from,
    to,
    seed,
    probes: probes.map((probe) => ({
      rate_per_second: probe.perSecond,
      meets: probe.meets,
      is_clear: probe.isClear,
      seconds: probe.seconds,
      requests: probe.requests,
      share_within_target: probe.shareWithin,
      p50_ms: probe.p50Ms ?? null,
      p99_ms: probe.p99Ms ?? null,
      mean_batch_size: probe.meanBatchSize ?? null,
      generator_limit: probe.generatorLimit ?? null,
    })),
  };
}
