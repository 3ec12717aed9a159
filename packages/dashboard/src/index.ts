/** The pages that show a server and a load generator at work, and their files. All of them are named here: there are no others. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

export type {
  LoadPageReport,
  LoadPageRunState,
  LoadPageState,
  LoadSetup,
  LoadSetupSchedule,
  LoadSetupTraffic,
  LoadSetupWaitTime,
} from './load-page/page-state.js';

export interface PageFile {
  /** Behind the address of the page and a slash. */
  readonly name: string;
  readonly contentType: string;
  read(): Promise<Buffer>;
}

const { resolve } = createRequire(import.meta.url);
/** Next to this file once it is compiled; the sources have it compiled elsewhere. */
const MODULES = new URL(import.meta.url.endsWith('.ts') ? '../dist/' : './', import.meta.url);
const ASSETS = new URL('../assets/', import.meta.url);

const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** Of both pages. */
const SHARED = ['axis', 'bars', 'chart', 'dom', 'numbers', 'poll', 'tiles'];

const DASHBOARD = [
  'exposition',
  'histogram',
  'history',
  'main',
  'reading',
  'requests-panel',
  'runner-panel',
  'scrape',
  'server-line',
  'watch',
];

const LOAD_PAGE = [
  'arrival-fields',
  'charts-panel',
  'client',
  'data-table',
  'downloads-panel',
  'failures-panel',
  'field',
  'main',
  'overview',
  'run-line',
  'series',
  'split-panel',
  'start-form',
  'statistics-panel',
  'tabs',
  'token-form',
  'users-dialog',
  'users-fields',
];

const STYLES: readonly PageFile[] = [
  pageFile('style.css', CSS, new URL('style.css', ASSETS)),
  pageFile('uplot.css', CSS, resolve('uplot/dist/uPlot.min.css')),
];

export const DASHBOARD_FILES: readonly PageFile[] = [
  ...[...SHARED, ...DASHBOARD].map((name) => moduleFile(`${name}.js`, `page/${name}.js`)),
  uplotFile('uplot.js'),
  ...STYLES,
];

/** Behind a slash: the page is at the root. */
export const LOAD_PAGE_FILES: readonly PageFile[] = [
  ...SHARED.map((name) => moduleFile(`page/${name}.js`, `page/${name}.js`)),
  ...LOAD_PAGE.map((name) => moduleFile(`load-page/${name}.js`, `load-page/${name}.js`)),
  uplotFile('page/uplot.js'),
  ...STYLES,
];

/** Its addresses are relative, so that it also works behind a proxy that puts a path in front. */
export function dashboardPage(title: string): string {
  const reason = 'This page shows /metrics as charts. It needs JavaScript.';
  return pageText(title, { folder: 'dashboard/', main: 'dashboard/main.js', reason });
}

/** The page of a load generator, at the root of its server. */
export function loadPage(title: string): string {
  const reason = 'This page starts and shows load runs. It needs JavaScript.';
  return pageText(title, { folder: '', main: 'load-page/main.js', reason });
}

interface PageParts {
  readonly folder: string;
  readonly main: string;
  /** Shown where there is no JavaScript. */
  readonly reason: string;
}

function pageText(title: string, { folder, main, reason }: PageParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${folder}uplot.css">
<link rel="stylesheet" href="${folder}style.css">
<script type="module" src="${main}"></script>
</head>
<body>
<header><h1>${escaped(title)}</h1></header>
<main><noscript>${reason}</noscript></main>
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

function moduleFile(name: string, place: string): PageFile {
  return pageFile(name, JAVASCRIPT, new URL(place, MODULES));
}

function uplotFile(name: string): PageFile {
  return pageFile(name, JAVASCRIPT, resolve('uplot/dist/uPlot.esm.js'));
}

function escaped(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character);
}
