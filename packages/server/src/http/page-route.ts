/** A route for a page of the server, with what a browser may do on it. */
import type { HttpRoute } from './http-route.js';

/** Nothing from elsewhere, nothing inline, nobody may frame it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** `path` has one part: the addresses on the page are relative, so that it also works where a proxy puts a path in front. */
export function pageRoute(path: string, page: () => string): HttpRoute {
  return {
    method: 'GET',
    path,
    isWork: false,
    handle(call) {
      // From `/docs/` the relative addresses would lead astray.
      if (call.path.endsWith('/')) {
        call.reply(301, { location: `..${path}` }, '');
        return;
      }
      const headers = {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'content-security-policy': POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      };
      call.reply(200, headers, page());
    },
  };
}
