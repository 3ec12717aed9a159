/** The metrics of the process itself: event-loop lag, CPU time and memory. */
import type { LoopLag } from './loop-lag.js';
import type { Registry } from './registry.js';
import { RunningTotals } from './running-totals.js';

export function ownProcessMetrics(registry: Registry, loopLag: LoopLag): void {
  const lag = registry.gauge({
    name: 'batchwise_event_loop_lag_seconds',
    help: 'Recent event-loop lag, maximum over all processes.',
    labels: ['statistic'],
    rule: 'max',
  });
  const cpu = registry.counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time spent, user and system, by all processes.',
    labels: [],
    parts: 1e6,
  });
  const memory = (name: string, help: string) =>
    registry.gauge({ name, help, labels: [], rule: 'sum' }).labels();
  const resident = memory('process_resident_memory_bytes', 'Resident memory of all processes.');
  const heapUsed = memory('nodejs_heap_size_used_bytes', 'Used size of the JavaScript heaps.');
  const heapSize = memory('nodejs_heap_size_total_bytes', 'Size of the JavaScript heaps.');
  const external = memory(
    'nodejs_external_memory_bytes',
    'Memory outside of the JavaScript heaps, such as buffers.',
  );
  const start = registry.gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the oldest running process, in seconds since 1970.',
    labels: [],
    rule: 'min',
  });
  start.labels().set(performance.timeOrigin / 1000);

  const totals = new RunningTotals();
  registry.onCollect(() => {
    const { p50, p99, max } = loopLag.read();
    lag.labels('p50').set(p50);
    lag.labels('p99').set(p99);
    lag.labels('max').set(max);
    const { user, system } = process.cpuUsage();
    totals.follow(cpu.labels(), 'cpu', (user + system) / 1e6);
    const { rss, heapUsed: used, heapTotal, external: outside } = process.memoryUsage();
    resident.set(rss);
    heapUsed.set(used);
    heapSize.set(heapTotal);
    external.set(outside);
  });
}
