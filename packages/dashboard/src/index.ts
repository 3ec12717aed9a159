/** The page that shows a server at work, and the files it needs. All of them are named here: there are no others. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

export interface PageFile {
  /** Behind the address of the page and a slash. */
  readonly name: string;
  readonly contentType: string;
  read(): Promise<Buffer>;
}

const { resolve } = createRequire(import.meta.url);
/** Next to this file once it is compiled; the sources have it compiled elsewhere. */
const MODULES = new URL(import.meta.url.endsWith('.ts') ? '../dist/page/' : './page/', import.meta.url);
const ASSETS = new URL('../assets/', import.meta.url);

const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

const MODULE_NAMES = [
  'bars',
  'chart',
  'dom',
  'exposition',
  'histogram',
  'history',
  'main',
  'numbers',
  'reading',
  'requests-panel',
  'runner-panel',
  'scrape',
  'server-line',
  'tiles',
  'watch',
];

export const DASHBOARD_FILES: readonly PageFile[] = [
  ...MODULE_NAMES.map((name) => pageFile(`${name}.js`, JAVASCRIPT, new URL(`${name}.js`, MODULES))),
  pageFile('style.css', CSS, new URL('style.css', ASSETS)),
  pageFile('uplot.js', JAVASCRIPT, resolve('uplot/dist/uPlot.esm.js')),
  pageFile('uplot.css', CSS, resolve('uplot/dist/uPlot.min.css')),
];

/** Its addresses are relative, so that it also works behind a proxy that puts a path in front. */
export function dashboardPage(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="dashboard/uplot.css">
<link rel="stylesheet" href="dashboard/style.css">
<script type="module" src="dashboard/main.js"></script>
</head>
<body>
<header><h1>${escaped(title)}</h1></header>
<main><noscript>This page reads /metrics and draws it, for which it needs JavaScript.</noscript></main>
</body>
</html>
`;
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E" +
  "%3Cg fill='%232a78c8'%3E%3Crect x='1' y='9' width='4' height='6'/%3E%3Crect x='6' y='5' width='4' height='10'/%3E" +
  "%3Crect x='11' y='1' width='4' height='14'/%3E%3C/g%3E%3C/svg%3E";

function pageFile(name: string, contentType: string, place: URL | string): PageFile {
  return { name, contentType, read: () => readFile(place) };
}

function escaped(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character);
}
