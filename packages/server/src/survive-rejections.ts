/**
 * A promise that is rejected with nobody waiting for it would end the process, and with it the requests of
 * everybody else. It is a mistake in the code of a service, but it leaves nothing half done that others rely
 * on: it is told and counted, and the process goes on. An exception that nobody catches still ends it.
 */
import { errorText } from './error-text.js';
import type { ServerMetrics } from './metrics/server-metrics.js';

/** Until the function that is returned is called. A program that has a listener of its own is left alone. */
export function surviveRejections(
  metrics: Pick<ServerMetrics, 'rejectionUnhandled'>,
  log: (line: string) => void,
): () => void {
  if (process.listenerCount('unhandledRejection') > 0) return () => {};
  const onRejection = (reason: unknown) => {
    metrics.rejectionUnhandled();
    log(`Unhandled promise rejection: ${errorText(reason)}`);
  };
  process.on('unhandledRejection', onRejection);
  return () => void process.off('unhandledRejection', onRejection);
}
