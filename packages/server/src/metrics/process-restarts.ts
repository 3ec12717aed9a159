/** How often processes had to be started again. The supervisor counts that: those who know it best are gone. */
import type { CounterSnapshot } from '@batchwise/metrics';

export interface RestartCount {
  readonly kind: string;
  /** Undefined for processes of no runner. */
  readonly runner: string | undefined;
  readonly restarts: number;
}

export function processRestarts(counts: readonly RestartCount[]): CounterSnapshot {
  return {
    type: 'counter',
    name: 'batchwise_process_restarts_total',
    help: 'Processes that ended on their own and were started again.',
    labelNames: ['kind', 'runner'],
    parts: 1,
    series: counts.map(({ kind, runner = '', restarts }) => ({ labels: [kind, runner], value: restarts })),
  };
}
