/** The metrics that each runner has; the label `runner` is its name. */
import { DURATION_BOUNDS } from './buckets.js';
import type { Registry } from './registry.js';

export const BATCH_SIZE = 'batchwise_batch_size';

export type RunnerInstruments = ReturnType<typeof runnerInstruments>;

export function runnerInstruments(registry: Registry) {
  const labels = ['runner'] as const;
  const durations = (name: string, help: string) =>
    registry.histogram({ name, help, labels, bounds: DURATION_BOUNDS, parts: 1e6 });
  return {
    batchSize: registry.histogram({
      name: BATCH_SIZE,
      help: 'Rows in a batch.',
      labels,
      bounds: [1],
      parts: 1,
    }),
    queueWait: durations(
      'batchwise_queue_wait_seconds',
      'From the arrival of an item to the start of its batch.',
    ),
    assembly: durations(
      'batchwise_assembly_seconds',
      'How long it took to put the rows of a batch together and to take its results apart.',
    ),
    compute: durations('batchwise_compute_seconds', 'How long a batch ran.'),
    batches: registry.counter({
      name: 'batchwise_batches_total',
      help: 'Batches that were started, by the reason for which they left.',
      labels: ['runner', 'reason'],
    }),
    items: registry.counter({
      name: 'batchwise_items_total',
      help: 'Items that ended, by how.',
      labels: ['runner', 'outcome'],
    }),
    refusals: registry.counter({
      name: 'batchwise_refusals_total',
      help: 'Items that were turned away, by the code of the error they were given.',
      labels: ['runner', 'cause'],
    }),
    queueDepth: registry.gauge({
      name: 'batchwise_queue_depth',
      help: 'Items that wait.',
      labels,
      rule: 'sum',
    }),
    queueOldest: registry.gauge({
      name: 'batchwise_queue_oldest_seconds',
      help: 'How long the item that has waited longest has waited; 0 when none waits.',
      labels,
      rule: 'max',
    }),
    inFlight: registry.gauge({
      name: 'batchwise_in_flight',
      help: 'Items in batches that run.',
      labels,
      rule: 'sum',
    }),
    batchesRunning: registry.gauge({
      name: 'batchwise_batches_running',
      help: 'Batches that run.',
      labels,
      rule: 'sum',
    }),
    arrivals: registry.gauge({
      name: 'batchwise_arrivals_per_second',
      help: 'Items that arrive in a second, as the batcher estimates it.',
      labels,
      rule: 'sum',
    }),
    curve: registry.gauge({
      name: 'batchwise_service_curve_seconds',
      help: 'How long the largest batch known of up to so many rows is expected to take.',
      labels: ['runner', 'size'],
      rule: 'max',
    }),
  };
}
