import { type MetricsSnapshot, PROMETHEUS_CONTENT_TYPE, prometheusText } from '@batchwise/metrics';
import { type Clock, realClock } from 'batchwise';
import type { HttpRoute } from '../http/http-route.js';
import { RequestError } from '../request-error.js';

export interface MetricsRouteOptions {
  /** After how long without metrics to say so; less than the ten seconds that Prometheus waits. @default 5000 */
  readonly deadlineMs?: number;
  readonly clock?: Clock;
}

const HEADERS = { 'content-type': PROMETHEUS_CONTENT_TYPE, 'cache-control': 'no-store' };

/**
 * `GET /metrics`. When nothing comes by the deadline the answer is 503, and Prometheus has a gap. Showing
 * what this process alone has counted would look as if all counters had been set back.
 */
export function metricsRoute(
  collect: () => Promise<MetricsSnapshot> | MetricsSnapshot,
  { deadlineMs = 5000, clock = realClock }: MetricsRouteOptions = {},
): HttpRoute {
  return {
    method: 'GET',
    path: '/metrics',
    isWork: false,
    async handle(call) {
      const timer = clock.setTimer(() => call.fail(lateError(deadlineMs)), deadlineMs);
      try {
        call.reply(200, HEADERS, prometheusText(await collect()));
      } finally {
        clock.clearTimer(timer);
      }
    },
  };
}

function lateError(deadlineMs: number): RequestError {
  return new RequestError('NOT_READY', `the metrics could not be collected within ${deadlineMs} ms`);
}
