/** The library in a real browser: the built package, bundled as an application would, in Chromium. */
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { findProgram, testPrograms } from '../../../../scripts/test-programs.js';
import type * as scenarios from './browser-scenarios.js';

type Scenarios = typeof scenarios;

const LARGEST_BUNDLE_BYTES = 36_800;

const CHROMIUM_ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const PAGE = `<!doctype html>
<link rel="icon" href="data:,">
<script type="importmap">{ "imports": { "batchwise": "/batchwise.js" } }</script>
<script type="module">
  import * as scenarios from '/scenarios.js';
  globalThis.scenarios = scenarios;
</script>`;

const WORKER = `
  import { Batcher } from '/batchwise.js';
  const squares = new Batcher(async (numbers) => numbers.map((n) => n * n));
  const answers = await Promise.all([2, 3, 4].map((n) => squares.submit(n)));
  postMessage({ answers, batches: squares.stats().batches });`;

// A scenario takes milliseconds; one that hangs must not delay the others for long.
vi.setConfig({ testTimeout: 15_000 });

let library: Bundle;
let server: Server;
let browser: Browser;
let page: Page;
const pageErrors: string[] = [];

beforeAll(async () => {
  library = await bundle(builtLibrary());
  const { code } = await bundle(path('./browser-scenarios.ts'));
  server = await serve({
    '/': ['text/html', PAGE],
    '/batchwise.js': ['text/javascript', library.code],
    '/scenarios.js': ['text/javascript', code],
    '/worker.js': ['text/javascript', WORKER],
  });
  browser = await chromium.launch({ executablePath: chromiumPath(), args: CHROMIUM_ARGUMENTS });
  page = await browser.newPage();
  page.on('pageerror', (error) => pageErrors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') pageErrors.push(message.text());
  });
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await page.waitForFunction('globalThis.scenarios !== undefined');
});

afterAll(async () => {
  await browser?.close();
  server?.close();
});

test('the bundle imports nothing and is small', () => {
  expect(library.imports).toEqual([]);
  const bytes = gzipSync(library.code).length;
  console.info(`batchwise for the browser: ${bytes} bytes, minified and gzipped`);
  expect(bytes).toBeLessThan(LARGEST_BUNDLE_BYTES);
});

test('a bundle with a Node import fails the check', async () => {
  const code = `import { readFile } from 'node:fs/promises'; console.log(readFile);`;
  await expect(bundle({ contents: code })).rejects.toThrow('node:fs/promises');
});

test('the page has no globals of Node', async () => {
  expect(await inPage('nodeGlobals')).toEqual({ process: 'undefined', setImmediate: 'undefined' });
});

test('a thousand concurrent callers get their own results, in full batches', async () => {
  const { answers, sizes } = await inPage('thousandCallers', 64);
  expect(answers).toEqual(Array.from({ length: 1000 }, (_, item) => `answer ${item}`));
  expect(sizes).toEqual([...Array(15).fill(64), 40]);
});

test('aborted calls are rejected at once, and the others get their results', async () => {
  expect(await inPage('abortedCallers')).toEqual({
    aborted: ['CANCELLED', 'CANCELLED'],
    stillQueued: 1,
    stillRunning: 2,
    neighbours: ['A', 'C', 'E'],
    batches: [['a', 'b', 'c'], ['e']],
  });
});

test('onBatch reports every batch until it is unsubscribed', async () => {
  const { reported, batches } = await inPage('reportedBatches');
  expect(reported).toEqual(
    [4, 4, 2].map((size) => ({
      name: 'reported',
      size,
      cost: size,
      reason: expect.stringMatching(/^(full|idle)$/),
      succeeded: size,
      failed: 0,
    })),
  );
  expect(batches).toBe(4);
});

test('a window batch is dispatched at the end of its window', async () => {
  const { answers, batches } = await inPage('windowBatch', 20);
  expect(answers).toEqual([1, 2]);
  expect(batches).toEqual([{ size: 2, reason: 'window', waitsMs: [expect.any(Number), expect.any(Number)] }]);
  // Timers count whole milliseconds: a window ends up to 1 ms early, plus the rounding error of a difference.
  for (const waitMs of batches[0]?.waitsMs ?? []) expect(waitMs).toBeGreaterThan(18.9);
});

test('close() rejects new items and resolves when the last batch has ended', async () => {
  expect(await inPage('closing')).toEqual({
    accepted: ['A', 'B', 'C', 'D', 'E'],
    late: 'CLOSED',
    closedBeforeTheLastBatch: false,
    queued: 0,
    running: 0,
    state: 'closed',
  });
});

test('a failed item gets its own error, and the others their results', async () => {
  expect(await inPage('itemErrors')).toEqual([0, 'its own error', 2, 'its own error']);
});

test('errors have their codes', async () => {
  expect(await inPage('errorCodes')).toEqual({
    thrown: 'HANDLER_FAILED',
    keepsCause: true,
    tooFewResults: 'BAD_RESULT',
    hungHandler: 'HANDLER_TIMEOUT',
    late: 'DEADLINE_EXCEEDED',
    fullQueue: 'QUEUE_FULL',
    badOption: 'INVALID_OPTION',
  });
});

test('it works in a worker', async () => {
  expect(await inPage('inWorker')).toEqual({ answers: [4, 9, 16], batches: 1 });
});

test('the page reported no error', () => {
  expect(pageErrors).toEqual([]);
});

/** Runs a scenario in the page and returns its result. */
function inPage<Name extends keyof Scenarios>(
  name: Name,
  ...args: Parameters<Scenarios[Name]>
): Promise<Awaited<ReturnType<Scenarios[Name]>>> {
  return page.evaluate(`scenarios.${name}(...${JSON.stringify(args)})`);
}

interface Bundle {
  readonly code: string;
  /** The imports that remain at run time. */
  readonly imports: readonly string[];
}

/** A bundle as of an application, for the browser, where a `node:` import is an error. */
async function bundle(source: string | { contents: string }): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    ...(typeof source === 'string' ? { entryPoints: [source] } : { stdin: source }),
    bundle: true,
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    external: ['batchwise'],
    minify: true,
    write: false,
    outdir: 'never-written',
    metafile: true,
    logLevel: 'silent',
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map((one) => one.path));
  return { code: outputFiles[0]?.text ?? '', imports };
}

function serve(files: Record<string, [type: string, body: string]>): Promise<Server> {
  const pages = createServer((request, response) => {
    const [type, body] = files[request.url ?? ''] ?? [];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': type ?? 'text/plain' });
    response.end(body ?? 'not found');
  });
  return new Promise((resolve) => {
    pages.listen(0, '127.0.0.1', () => resolve(pages));
  });
}

function builtLibrary(): string {
  const entry = path('../../dist/index.js');
  if (!existsSync(entry)) throw new Error(`${entry} is not there: run npm run build first.`);
  return entry;
}

function chromiumPath(): string {
  const found = findProgram(testPrograms.chromium);
  if (found === undefined)
    throw new Error('There is no Chromium: run node scripts/test-requirements.js first.');
  return found;
}

function path(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
