/** The documentation site: built from docs/, served from this machine, and read in a real browser. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addressOf, docs, sidebar } from '../../docs/.vitepress/contents.js';
import { shortOrLong } from '../../scripts/test-length.js';
import { findProgram, testPrograms } from '../../scripts/test-programs.js';

const PHONE = { viewport: { width: 360, height: 740 } };
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
};

const root = fileURLToPath(new URL('../..', import.meta.url));
const site = mkdtempSync(join(tmpdir(), 'batchwise-site-'));
const pages = readdirSync(docs, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md') && !file.startsWith('.vitepress'))
  .map(addressOf);

let browser: Browser;
let server: Server;
let origin: string;

beforeAll(async () => {
  const executablePath = findProgram(testPrograms.chromium);
  if (executablePath === undefined) {
    throw new Error('There is no Chromium: run node scripts/test-requirements.js first.');
  }
  const vitepress = join(root, 'node_modules/vitepress/bin/vitepress.js');
  await promisify(execFile)(process.execPath, [vitepress, 'build', 'docs', '--outDir', site], { cwd: root });
  server = createServer(({ url = '/' }, response) => {
    const file = fileOf(new URL(url, origin).pathname);
    response.writeHead(existsSync(file) ? 200 : 404, {
      'content-type': TYPES[extname(file)] ?? 'text/plain',
    });
    response.end(existsSync(file) ? readFileSync(file) : '');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
});

afterAll(async () => {
  await browser?.close();
  server?.close();
  rmSync(site, { recursive: true, force: true });
});

/** As GitHub Pages finds it: `/guides/redis` is `guides/redis.html`. */
function fileOf(path: string): string {
  const file = join(site, decodeURI(path));
  if (path.endsWith('/')) return join(file, 'index.html');
  return extname(file) === '' ? `${file}.html` : file;
}

/** A page, and what it does that it should not: errors, and requests to other hosts. */
async function openPage(options: BrowserContextOptions = {}): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage(options);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol !== 'data:' && url.origin !== origin) complaints.push(request.url());
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  return { page, complaints };
}

/** Runs in the page: whether its scripts have taken over. */
function isMounted(): boolean {
  return '__vue_app__' in (document.getElementById('app') ?? {});
}

describe('the pages', () => {
  test('are in the navigation, each in a table of README.md', () => {
    const links = Object.values(sidebar).flatMap((groups) => groups.flatMap(({ items }) => items));
    const listed = links.map(({ link }) => link);
    expect(pages.filter((page) => !['/', '/decisions/'].includes(page) && !listed.includes(page))).toEqual(
      [],
    );
    expect(listed.filter((link) => !pages.includes(link))).toEqual([]);
  });

  test('link to pages and headings that exist', () => {
    const dead: string[] = [];
    for (const page of pages) {
      const html = readFileSync(fileOf(page), 'utf8');
      for (const [, link = ''] of html.matchAll(/<a [^>]*href="([^"]+)"/g)) {
        const { origin: host, pathname, hash } = new URL(link.replaceAll('&amp;', '&'), `http://site${page}`);
        if (host !== 'http://site') continue;
        const file = fileOf(pathname);
        const id = decodeURIComponent(hash.slice(1));
        const isThere = existsSync(file) && (id === '' || readFileSync(file, 'utf8').includes(` id="${id}"`));
        if (!isThere) dead.push(`${page} → ${link}`);
      }
    }
    expect(dead).toEqual([]);
  });

  test('name files of the repository that exist', () => {
    const text = readFileSync(join(docs, 'where-to-change-what.md'), 'utf8');
    const named = [...text.matchAll(/`((?:bench|docs|packages|python|test)\/[^` ]+)`/g)].map(
      ([, path = '']) => path,
    );
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test('tell what each package does', () => {
    const text = readFileSync(join(docs, 'architecture.md'), 'utf8');
    const packages = readdirSync(join(root, 'packages')).filter((name) => name !== 'integrations');
    expect(packages.filter((name) => !text.includes(`| [\`${name}\`](`))).toEqual([]);
  });
});

describe('in a browser', () => {
  test('no page logs an error, loads from another host, or is wider than a phone', async () => {
    const { page, complaints } = await openPage(PHONE);
    const wide: string[] = [];
    // Of a hundred pages, some; in the nightly suite, all.
    for (const path of pages.filter((_, index) => index % shortOrLong(8, 1) === 0)) {
      await page.goto(origin + path);
      await page.waitForFunction(isMounted);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (overflow > 0) wide.push(`${path}: ${overflow} pixels`);
    }
    expect.soft(wide).toEqual([]);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('the search finds a term', async () => {
    const { page, complaints } = await openPage();
    await page.goto(origin);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('searchbox').fill('target latency');
    const first = page.locator('.VPLocalSearchBox .result').first();
    await first.waitFor();
    expect((await first.innerText()).toLowerCase()).toMatch(/target|latency/);
    await first.click();
    await page.waitForURL(/\/(guides|reference|glossary)/);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('dark mode follows the system and its switch', async () => {
    const { page, complaints } = await openPage({ colorScheme: 'dark' });
    await page.goto(`${origin}/architecture`);
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await page.getByRole('switch').first().click();
    await expect.poll(background).not.toBe(dark);
    expect(await page.locator('html.dark').count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.close();
  });
});
