/** How a request fared, for those who ask why it took as long as it did. */
import type { BatchTrace } from '@batchwise/runners';

export function traceHeaders(trace: BatchTrace): Record<string, string> {
  return {
    'batchwise-batch-size': String(trace.batchSize),
    'batchwise-queue-ms': milliseconds(trace.queueMs),
    'batchwise-compute-ms': milliseconds(trace.computeMs),
  };
}

function milliseconds(ms: number): string {
  return String(Math.round(ms * 1000) / 1000);
}
