/** A plan as JSON; the keys are in docs/reference/cli.md. */
import type { Plan } from './plan.js';
import { exactNumber } from './plan-notation.js';
import { HOLDS_FROM } from './plan-request.js';
import { snippetOf } from './plan-settings.js';
import type { LoadResult } from './plan-trial.js';
import { answerOf } from './plan-verdict.js';

export function planJson(plan: Plan): Record<string, unknown> {
  const { input, verdict, settings, expected, largest, slotsNeeded, loads } = plan;
  return {
    input: {
      curve: input.curve,
      traffic: input.traffic,
      rate_per_second: exactNumber(input.perSecond),
      requests: input.requests ?? null,
      target_latency_ms: input.targetLatencyMs,
      slots: input.slots ?? null,
      max_batch_size: input.maxBatchSize,
      noise: exactNumber(input.noise),
      prefer: input.prefer,
      seed: input.seed,
    },
    holds: verdict.kind === 'holds',
    holds_from: HOLDS_FROM,
    verdict: verdict.kind.replaceAll(' ', '_'),
    answer: answerOf(plan),
    needed: {
      slots: slotsNeeded ?? ('slotsNeeded' in verdict ? (verdict.slotsNeeded ?? null) : null),
      target_latency_ms:
        'lowestTargetLatencyMs' in verdict ? (verdict.lowestTargetLatencyMs ?? null) : input.targetLatencyMs,
    },
    settings:
      settings === undefined
        ? null
        : {
            max_batch_size: settings.maxBatchSize,
            concurrency: settings.concurrency,
            target_latency_ms: settings.targetLatencyMs,
            max_queue_size: settings.maxQueueSize,
            policy: { name: settings.policy.name, prefer: input.prefer },
            curve: settings.curve.map(({ cost, durationMs }) => ({
              cost,
              duration_ms: exactNumber(durationMs),
            })),
          },
    snippet: settings === undefined ? null : snippetOf(settings),
    expected: expected === undefined ? null : loadJson(expected),
    largest_rate: largest === undefined ? null : loadJson(largest),
    loads: loads.map(loadJson),
  };
}

function loadJson(load: LoadResult): Record<string, unknown> {
  return {
    rate_per_second: exactNumber(load.perSecond),
    mean_ms: exactNumber(load.meanMs),
    p50_ms: exactNumber(load.p50Ms),
    p99_ms: exactNumber(load.p99Ms),
    goodput: exactNumber(load.goodput),
    refused: exactNumber(load.refused),
    mean_batch_size: exactNumber(load.meanBatchSize),
    batches_per_second: exactNumber(load.batchesPerSecond),
    utilisation: exactNumber(load.utilisation),
  };
}
