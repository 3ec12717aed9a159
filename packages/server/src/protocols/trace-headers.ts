/** How a request fared, for those who ask why it took as long as it did. */
import type { BatchTrace } from '@batchwise/runners';

/**
 * With the answer's own. Names first and one object spread behind them: the other way round, or with two
 * objects, V8 takes ten times as long, 2 µs of the 40 that a request takes.
 */
export function traceHeaders(
  trace: BatchTrace,
  headers: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return {
    'batchwise-batch-size': String(trace.batchSize),
    'batchwise-queue-ms': milliseconds(trace.queueMs),
    'batchwise-compute-ms': milliseconds(trace.computeMs),
    ...headers,
  };
}

function milliseconds(ms: number): string {
  return String(Math.round(ms * 1000) / 1000);
}
