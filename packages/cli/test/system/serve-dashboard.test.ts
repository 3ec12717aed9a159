/** The page at /dashboard in a real browser, before a real server under load. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProgram, testPrograms } from '../../../../scripts/test-programs.js';
import { Load } from './support/load.js';
import { model, root, Serving } from './support/serving.js';

let browser: Browser;

beforeAll(async () => {
  const executablePath = findProgram(testPrograms.chromium);
  if (executablePath === undefined) {
    throw new Error('There is no Chromium: run node scripts/test-requirements.js first.');
  }
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
});

afterAll(async () => {
  await browser?.close();
  await Serving.endAll();
});

/** What a page did that it should not: errors, and requests for anything but its server. */
function complaintsOf(page: Page, { port }: Serving): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol !== 'data:' && url.port !== String(port)) complaints.push(request.url());
  });
  return complaints;
}

/** Runs in the page: notes the times of day below a chart that all but touch the one before. */
function noteTouchingTimes(): void {
  const touching: string[] = [];
  Object.assign(window, { touching });
  const last = new WeakMap<object, { y: number; left: number; right: number }>();
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    draw.call(this, text, x, y);
    if (!/^\d\d:\d\d:\d\d$/.test(text)) return;
    const half = this.measureText(text).width / 2;
    const before = last.get(this);
    const isNext = before !== undefined && before.y === y && x - half > before.left;
    if (isNext && x - half - before.right < 4) touching.push(text);
    last.set(this, { y, left: x - half, right: x + half });
  };
}

/** The number in a tile of a section. */
async function tile(page: Page, section: string, label: string): Promise<number> {
  const heading = page.getByRole('heading', { level: 2, name: section, exact: true });
  const text = await heading.locator('xpath=..').locator(`dt:text-is("${label}") + dd`).innerText();
  return Number.parseFloat(text.replaceAll(',', ''));
}

function classify(port: number, clients: number): Load {
  const flower = { sepal_length: 6.5, sepal_width: 3.2, petal_length: 5.1, petal_width: 2 };
  return new Load(port, { clients, ask: (client) => client.post('/classify', flower) });
}

describe.each([
  ['one process', []],
  ['several', ['--workers', '2']],
])('the page of %s', (_, flags) => {
  test('shows what is asked and what is batched', async () => {
    const serving = await Serving.start([join(root, 'examples/service/service.ts'), ...flags]);
    const page = await browser.newPage();
    const complaints = complaintsOf(page, serving);
    await page.goto(`http://127.0.0.1:${serving.port}/dashboard`);
    await page.getByRole('status').filter({ hasText: 'Ready' }).waitFor();
    // What has not been asked for yet is nothing, and not missing.
    await page.getByRole('heading', { level: 2, name: 'digits', exact: true }).waitFor();
    expect(await tile(page, 'Requests', 'requests/s')).toBe(0);

    const load = classify(serving.port, 8);
    await expect.poll(() => tile(page, 'Requests', 'requests/s'), { timeout: 300_000 }).toBeGreaterThan(0);
    await expect.poll(() => tile(page, 'iris', 'rows/s'), { timeout: 300_000 }).toBeGreaterThan(0);
    await expect.poll(() => tile(page, 'iris', 'mean batch'), { timeout: 300_000 }).toBeGreaterThanOrEqual(1);
    expect(await tile(page, 'digits', 'rows/s')).toBe(0);
    const iris = page.getByRole('heading', { level: 2, name: 'iris', exact: true }).locator('xpath=..');
    expect(await iris.locator('canvas').count()).toBe(3);
    expect(await iris.locator('.bars tr').count()).toBeGreaterThan(2);
    await load.end();
    await expect.poll(() => tile(page, 'Requests', 'requests/s'), { timeout: 300_000 }).toBe(0);
    expect(complaints).toEqual([]);
    await page.close();
  });
});

test('the page says that the server is gone, and that it is back', async () => {
  const copy = join(mkdtempSync(join(tmpdir(), 'batchwise-dashboard-')), 'another.onnx');
  copyFileSync(model('iris'), copy);
  const serving = await Serving.start([join(root, 'examples/service/service.ts'), copy]);
  rmSync(dirname(copy), { recursive: true });
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${serving.port}/dashboard`);
  await page.getByRole('status').filter({ hasText: 'Ready' }).waitFor();
  const another = page.getByRole('heading', { level: 2, name: 'another', exact: true });
  await another.waitFor();
  const { port } = serving;
  serving.signal('SIGTERM');
  await serving.exit;
  await page.getByRole('status').filter({ hasText: 'does not respond' }).waitFor();
  expect(await page.locator('main.stale').count()).toBe(1);
  new Serving([join(root, 'examples/service/service.ts'), '--port', String(port)]);
  await page.getByRole('status').filter({ hasText: 'Ready' }).waitFor();
  const load = classify(port, 2);
  await expect.poll(() => tile(page, 'Requests', 'requests/s'), { timeout: 300_000 }).toBeGreaterThan(0);
  await load.end();
  // What the server no longer has is not shown as it once was.
  expect(await another.isVisible()).toBe(false);
  expect(await page.locator('main.stale').count()).toBe(0);
  await page.close();
});

test('nothing is wider than a phone, in the dark either', async () => {
  const serving = await Serving.start([join(root, 'examples/service/service.ts')]);
  const page = await browser.newPage({ viewport: { width: 360, height: 740 }, colorScheme: 'dark' });
  await page.addInitScript(noteTouchingTimes);
  await page.goto(`http://127.0.0.1:${serving.port}/dashboard`);
  await page.getByRole('heading', { level: 2, name: 'digits', exact: true }).waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).not.toBe(
    'rgb(246, 247, 249)',
  );
  expect(await page.evaluate(() => Reflect.get(window, 'touching'))).toEqual([]);
  await page.close();
});
