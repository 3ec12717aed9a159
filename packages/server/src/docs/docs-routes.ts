/** `/docs.json`, the page at `/docs` that shows it, and the way there from `/`. */
import { fileRoute } from '../http/file-route.js';
import type { HttpCall, HttpRoute } from '../http/http-route.js';
import { pageRoute } from '../http/page-route.js';
import { DOCS_FILES, docsPage } from './docs-page.js';
import type { OpenApiDocument } from './open-api.js';

/** Their addresses name the version. */
const FOR_EVER = 'public, max-age=31536000, immutable';

export interface DocsRoutesOptions {
  /** Whether `/` leads to `/docs`; not where a service has a route of its own there. @default true */
  readonly hasRoot?: boolean;
}

export function docsRoutes(
  getDocument: () => OpenApiDocument,
  { hasRoot = true }: DocsRoutesOptions = {},
): HttpRoute[] {
  let written: { readonly document: OpenApiDocument; readonly json: Buffer } | undefined;
  const json = () => {
    const document = getDocument();
    if (written?.document !== document) written = { document, json: Buffer.from(JSON.stringify(document)) };
    return written.json;
  };
  return [
    ...(hasRoot
      ? [get('/', (call) => call.reply(302, { location: 'docs', 'cache-control': 'no-store' }, ''))]
      : []),
    get('/docs.json', (call) => {
      const headers = { 'content-type': 'application/json', 'cache-control': 'no-cache' };
      call.reply(200, headers, json());
    }),
    pageRoute('/docs', () => docsPage(`API docs: ${getDocument().info.title}`)),
    ...DOCS_FILES.map((file) => fileRoute('/docs', file, FOR_EVER)),
  ];
}

function get(path: string, handle: (call: HttpCall) => void): HttpRoute {
  return { method: 'GET', path, isWork: false, handle };
}
