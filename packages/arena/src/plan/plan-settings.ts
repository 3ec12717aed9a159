/** The settings that a plan recommends, with the policy, and as source code. */
import { adaptive, type CurvePoint, type Policy } from 'batchwise';

export interface PlanSettings {
  readonly maxBatchSize: number;
  readonly concurrency: number;
  readonly targetLatencyMs: number;
  readonly maxQueueSize: number;
  readonly policy: PlannedPolicy;
  readonly curve: readonly CurvePoint[];
}

export type Prefer = 'latency' | 'efficiency';

export interface PlannedPolicy {
  /** The name of its factory in `batchwise`. */
  readonly name: string;
  /** The call of the factory, as source code. */
  readonly call: string;
  make(): Policy;
}

export function plannedPolicy(prefer: Prefer): PlannedPolicy {
  return {
    name: 'adaptive',
    call: prefer === 'latency' ? 'adaptive()' : "adaptive({ prefer: 'efficiency' })",
    make: () => adaptive({ prefer }),
  };
}

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
    '  // The initial service curve; learning continues from here.',
    '  curve: [',
    ...points,
    '  ],',
    '});',
  ].join('\n');
}
