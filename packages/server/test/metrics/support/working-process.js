/** A process with a runner that is never without work, and that shows its metrics when it gets a message. */
import { Batcher } from 'batchwise';
import { ServerMetrics } from '../../../dist/metrics/server-metrics.js';

const metrics = new ServerMetrics({ version: '0.0.0', kind: 'runner' });
const batcher = new Batcher(async (items) => items, { name: 'echo', maxBatchSize: 4 });
metrics.watchRunner({ name: 'echo', stats: () => batcher.stats() }, 4);

process.on('message', () => process.send?.(metrics.snapshot()));
process.on('disconnect', () => process.exit());

for (;;) {
  metrics.http.started('/echo');
  const startedAt = performance.now();
  await Promise.all([1, 2, 3].map((item) => batcher.submit(item)));
  metrics.http.ended('/echo', 200, performance.now() - startedAt);
}
