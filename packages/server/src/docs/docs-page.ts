/** The page at `/docs`, and the few files that it needs. All of them are named here: nothing else can be asked for. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { ServedFile } from '../http/file-route.js';

const require = createRequire(import.meta.url);
// Its static files are those of Swagger UI. The package swagger-ui-dist itself reports each installation (@scarf/scarf).
const { version } = require('@fastify/swagger-ui/package.json') as { version: string };

/** Ours is a file as well, so that the page needs no script of its own and the policy can forbid them. */
const START = `SwaggerUIBundle({
  url: new URL('docs.json', document.baseURI).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

export const DOCS_FILES: readonly ServedFile[] = [
  swaggerFile('swagger-ui.css', 'text/css; charset=utf-8'),
  swaggerFile('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
  swaggerFile('favicon-32x32.png', 'image/png'),
  {
    name: 'start.js',
    contentType: 'text/javascript; charset=utf-8',
    read: async () => Buffer.from(START),
  },
];

/** Whatever is kept of an older version is under another address. */
function address(name: string): string {
  return `docs/${name}?v=${version}`;
}

/** Its addresses are relative, so that it also works behind a proxy that puts a path in front. */
export function docsPage(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<link rel="icon" type="image/png" href="${address('favicon-32x32.png')}">
<link rel="stylesheet" href="${address('swagger-ui.css')}">
</head>
<body>
<div id="swagger-ui"></div>
<script src="${address('swagger-ui-bundle.js')}"></script>
<script src="${address('start.js')}"></script>
</body>
</html>
`;
}

function swaggerFile(name: string, contentType: string): ServedFile {
  return { name, contentType, read: () => readFile(require.resolve(`@fastify/swagger-ui/static/${name}`)) };
}

function escaped(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character);
}
