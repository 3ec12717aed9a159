/** The metrics of each runner; the label `runner` is its name. */
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
      'Queue wait of an item, from arrival to the start of its batch.',
    ),
    assembly: durations(
      'batchwise_assembly_seconds',
      'Time to concatenate the rows of a batch and to split its results.',
    ),
    compute: durations('batchwise_compute_seconds', 'Service time of a batch.'),
    batches: registry.counter({
      name: 'batchwise_batches_total',
      help: 'Dispatched batches, by dispatch reason.',
      labels: ['runner', 'reason'],
    }),
    items: registry.counter({
      name: 'batchwise_items_total',
      help: 'Completed items, by outcome.',
      labels: ['runner', 'outcome'],
    }),
    refusals: registry.counter({
      name: 'batchwise_refusals_total',
      help: 'Rejected items, by error code.',
      labels: ['runner', 'cause'],
    }),
    queueDepth: registry.gauge({
      name: 'batchwise_queue_depth',
      help: 'Queued items.',
      labels,
      rule: 'sum',
    }),
    queueOldest: registry.gauge({
      name: 'batchwise_queue_oldest_seconds',
      help: 'Queue wait of the oldest queued item; 0 if the queue is empty.',
      labels,
      rule: 'max',
    }),
    inFlight: registry.gauge({
      name: 'batchwise_in_flight',
      help: 'Items in running batches.',
      labels,
      rule: 'sum',
    }),
    batchesRunning: registry.gauge({
      name: 'batchwise_batches_running',
      help: 'Running batches.',
      labels,
      rule: 'sum',
    }),
    arrivals: registry.gauge({
      name: 'batchwise_arrivals_per_second',
      help: 'Estimated arrival rate, in items per second.',
      labels,
      rule: 'sum',
    }),
    curve: registry.gauge({
      name: 'batchwise_service_curve_seconds',
      help: 'Expected service time of the largest known batch of up to this many rows.',
      labels: ['runner', 'size'],
      rule: 'max',
    }),
  };
}
