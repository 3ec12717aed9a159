/** `/docs.json`, the page at `/docs` that shows it, and the way there from `/`. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { HttpCall, HttpRoute } from '../http/http-route.js';
import { DOCS_FILES, DOCS_POLICY, type DocsFile, docsPage } from './docs-page.js';
import type { OpenApiDocument } from './open-api.js';

const compressed = promisify(gzip);

export interface DocsRoutesOptions {
  /** Whether `/` leads to `/docs`; not where a service has a route of its own there. @default true */
  readonly hasRoot?: boolean;
}

export function docsRoutes(
  getDocument: () => OpenApiDocument,
  { hasRoot = true }: DocsRoutesOptions = {},
): HttpRoute[] {
  return [
    ...(hasRoot
      ? [get('/', (call) => call.reply(302, { location: 'docs', 'cache-control': 'no-store' }, ''))]
      : []),
    get('/docs.json', (call) => {
      const headers = { 'content-type': 'application/json', 'cache-control': 'no-cache' };
      call.reply(200, headers, JSON.stringify(getDocument()));
    }),
    get('/docs', (call) => replyPage(call, getDocument)),
    ...DOCS_FILES.map(fileRoute),
  ];
}

function replyPage(call: HttpCall, getDocument: () => OpenApiDocument): void {
  // From `/docs/` the relative addresses of the page would lead astray.
  if (call.path.endsWith('/')) {
    call.reply(301, { location: '../docs' }, '');
    return;
  }
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'content-security-policy': DOCS_POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
  call.reply(200, headers, docsPage(getDocument().info.title));
}

/** Read when first asked for, and kept: they are the same as long as the process lives. */
function fileRoute(file: DocsFile): HttpRoute {
  let kept: Promise<{ readonly plain: Buffer; readonly zipped: Buffer }> | undefined;
  const load = async () => {
    const plain = await file.read();
    return { plain, zipped: await compressed(plain) };
  };
  return get(`/docs/${file.name}`, async (call) => {
    kept ??= load();
    const { plain, zipped } = await kept.catch((error: unknown) => {
      kept = undefined;
      throw error;
    });
    const isZipped = acceptsGzip(call.headers['accept-encoding']);
    const headers = {
      'content-type': file.contentType,
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    };
    call.reply(
      200,
      isZipped ? { ...headers, 'content-encoding': 'gzip' } : headers,
      isZipped ? zipped : plain,
    );
  });
}

function acceptsGzip(header: string | string[] | undefined): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(String(header ?? ''));
}

function get(path: string, handle: (call: HttpCall) => void | Promise<void>): HttpRoute {
  return { method: 'GET', path, isWork: false, handle };
}
