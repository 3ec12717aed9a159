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
  let running: Promise<string> | undefined;
  let next: Promise<string> | undefined;
  const begin = (): Promise<string> => {
    next = undefined;
    const text = Promise.resolve(collect()).then(prometheusText);
    running = text;
    const ended = () => {
      if (running === text) running = undefined;
    };
    text.then(ended, ended);
    return text;
  };
  /** A request that comes while metrics are collected waits for the next collection, with all others that do. */
  const shared = (): Promise<string> => {
    if (running === undefined) return begin();
    next ??= running.then(begin, begin);
    return next;
  };

  return {
    method: 'GET',
    path: '/metrics',
    isWork: false,
    async handle(call) {
      const timer = clock.setTimer(() => {
        running = undefined;
        next = undefined;
        call.fail(lateError(deadlineMs));
      }, deadlineMs);
      try {
        call.reply(200, HEADERS, await shared());
      } finally {
        clock.clearTimer(timer);
      }
    },
  };
}

function lateError(deadlineMs: number): RequestError {
  return new RequestError('NOT_READY', `the metrics could not be collected within ${deadlineMs} ms`);
}
