/**
 * The three questions of those who watch a server. `/livez`: should it be restarted? `/readyz`: should it get
 * traffic? `/healthz`, for people: how is it? The first and the last are answered with 200 as long as anything
 * is answered at all, because a server that is warming up or draining must not be restarted for it.
 */
import { RequestError } from '../request-error.js';
import type { HttpCall, HttpRoute } from './http-route.js';

export interface Readiness {
  readonly isReady: boolean;
  /** Why not. */
  readonly reasons: readonly string[];
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };
const JSON_TYPE = { 'content-type': 'application/json', 'cache-control': 'no-store' };

export function healthRoutes(readiness: () => Readiness): HttpRoute[] {
  return [
    healthRoute('/livez', (call) => call.reply(200, TEXT, 'alive\n')),
    healthRoute('/readyz', (call) => {
      const { isReady, reasons } = readiness();
      if (isReady) {
        call.reply(200, TEXT, 'ready\n');
        return;
      }
      const detail = reasons.length > 0 ? `Not ready: ${reasons.join('; ')}.` : 'Not ready.';
      call.fail(new RequestError('NOT_READY', detail, { headers: { 'cache-control': 'no-store' } }));
    }),
    healthRoute('/healthz', (call) => {
      const { isReady, reasons } = readiness();
      call.reply(200, JSON_TYPE, JSON.stringify({ status: isReady ? 'ready' : 'not_ready', reasons }));
    }),
  ];
}

function healthRoute(path: string, handle: (call: HttpCall) => void): HttpRoute {
  return { method: 'GET', path, isWork: false, handle };
}
