/** A plan for programs. Keys are in snake_case, as in all JSON of the project; the reference documents them. */
import type { Plan } from './plan.js';
import { HOLDS_FROM } from './plan-request.js';
import { snippetOf } from './plan-snippet.js';
import type { LoadResult } from './plan-trial.js';
import { answerOf } from './plan-verdict.js';

export function planJson(plan: Plan): Record<string, unknown> {
  const { asked, verdict, settings, expected, largest, slotsNeeded, loads } = plan;
  return {
    asked: {
      curve: asked.curve,
      traffic: asked.traffic,
      rate_per_second: exact(asked.perSecond),
      requests: asked.requests ?? null,
      target_ms: asked.targetMs,
      slots: asked.slots ?? null,
      max_batch_size: asked.maxBatchSize,
      noise: exact(asked.noise),
      prefer: asked.prefer,
      seed: asked.seed,
    },
    holds: verdict.kind === 'holds',
    holds_from: HOLDS_FROM,
    verdict: verdict.kind.replaceAll(' ', '_'),
    answer: answerOf(plan),
    needed: {
      slots: slotsNeeded ?? ('slotsNeeded' in verdict ? (verdict.slotsNeeded ?? null) : null),
      target_ms: 'lowestTargetMs' in verdict ? (verdict.lowestTargetMs ?? null) : asked.targetMs,
    },
    settings:
      settings === undefined
        ? null
        : {
            max_batch_size: settings.maxBatchSize,
            concurrency: settings.concurrency,
            target_latency_ms: settings.targetLatencyMs,
            max_queue_size: settings.maxQueueSize,
            policy: { name: settings.policy.name, prefer: asked.prefer },
            curve: settings.curve.map(({ cost, durationMs }) => ({ cost, duration_ms: exact(durationMs) })),
          },
    snippet: settings === undefined ? null : snippetOf(settings),
    expected: expected === undefined ? null : loadJson(expected),
    largest_rate: largest === undefined ? null : loadJson(largest),
    loads: loads.map(loadJson),
  };
}

function loadJson(load: LoadResult): Record<string, unknown> {
  return {
    rate_per_second: exact(load.perSecond),
    mean_ms: exact(load.meanMs),
    p50_ms: exact(load.p50Ms),
    p99_ms: exact(load.p99Ms),
    goodput: exact(load.goodput),
    refused: exact(load.refused),
    mean_batch_size: exact(load.meanBatchSize),
    batches_per_second: exact(load.batchesPerSecond),
    utilisation: exact(load.utilisation),
  };
}

/** Six digits; null for what there is not: the latency of no answers. */
function exact(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(6)) : null;
}
