/** The settings of a plan as a program that can be pasted. */
import type { PlanSettings } from './plan.js';

export function snippetOf(settings: PlanSettings): string {
  const { maxBatchSize, concurrency, targetLatencyMs, maxQueueSize, policy, curve } = settings;
  const points = curve.map(({ cost, durationMs }) => `    { cost: ${cost}, durationMs: ${durationMs} },`);
  return [
    `import { ${policy.name}, Batcher } from 'batchwise';`,
    '',
    'const batcher = new Batcher(handler, {',
    `  maxBatchSize: ${maxBatchSize},`,
    `  concurrency: ${concurrency},`,
    `  targetLatencyMs: ${targetLatencyMs},`,
    `  maxQueueSize: ${maxQueueSize},`,
    `  policy: ${policy.call},`,
    '  // Where learning starts; it goes on from here.',
    '  curve: [',
    ...points,
    '  ],',
    '});',
  ].join('\n');
}
