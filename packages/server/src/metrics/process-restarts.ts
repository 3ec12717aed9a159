/**
 * How often processes had to be restarted. The supervisor counts the restarts of web and runner processes, and the
 * process of a runner those of the processes of its model.
 */
import type { CounterDefinition, CounterSnapshot } from '@batchwise/metrics';

export const PROCESS_RESTARTS = {
  name: 'batchwise_process_restarts_total',
  help: 'Restarts of processes that ended unexpectedly.',
  labels: ['kind', 'runner'],
} as const satisfies CounterDefinition<readonly string[]>;

export interface RestartCount {
  readonly kind: string;
  /** Undefined for processes of no runner. */
  readonly runner: string | undefined;
  readonly restarts: number;
}

export function processRestarts(counts: readonly RestartCount[]): CounterSnapshot {
  return {
    type: 'counter',
    name: PROCESS_RESTARTS.name,
    help: PROCESS_RESTARTS.help,
    labelNames: PROCESS_RESTARTS.labels,
    parts: 1,
    series: counts.map(({ kind, runner = '', restarts }) => ({ labels: [kind, runner], value: restarts })),
  };
}
