/** The load page in a real browser: a run is started, changed, stopped, downloaded and discarded. */
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findProgram, testPrograms } from '../../../../scripts/test-programs.js';
import { type LoadPage, type RunSpec, startLoadPage, startRun } from '../../src/index.js';

const PATIENCE = { timeout: 300_000 };

let browser: Browser;
let target: Server;
let initial: RunSpec;
let answered = 0;
const pages: LoadPage[] = [];

beforeAll(async () => {
  const executablePath = findProgram(testPrograms.chromium);
  if (executablePath === undefined) {
    throw new Error('There is no Chromium: run node scripts/test-requirements.js first.');
  }
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  target = createServer((asked, answer) => {
    asked.resume().on('end', () => {
      answered++;
      answer.statusCode = answered % 20 === 0 ? 429 : answered % 20 === 10 ? 503 : 200;
      answer.setHeader('batchwise-batch-size', 1 + (answered % 8));
      answer.setHeader('batchwise-queue-ms', '0.2');
      answer.setHeader('batchwise-compute-ms', '0.1');
      answer.end('{}');
    });
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/classify`;
  initial = {
    work: { kind: 'target', target: { url, data: [{ json: {} }] } },
    traffic: { kind: 'users', users: 3, spawnRate: 100, waitTime: { kind: 'between', min: 0.01, max: 0.05 } },
    targetLatencyMs: 1000,
    failIf: ['error_rate > 1%'],
  };
});

afterAll(async () => {
  await browser?.close();
  for (const page of pages) await page.close();
  target?.close();
  target?.closeAllConnections();
});

async function served(options: { port?: number; token?: string } = {}): Promise<LoadPage> {
  const page = await startLoadPage({ port: 0, initial, start: startRun, ...options });
  pages.push(page);
  return page;
}

/** What a page did that it should not: errors, and requests for anything but its server. */
function complaintsOf(page: Page, { url }: LoadPage): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== 'data:' && protocol !== 'blob:' && origin !== new URL(url).origin) {
      complaints.push(request.url());
    }
  });
  return complaints;
}

async function tile(page: Page, label: string): Promise<number> {
  const text = await page.locator(`dt:text-is("${label}") + dd`).innerText();
  return Number.parseFloat(text.replaceAll(',', ''));
}

function state(page: Page, text: string) {
  return page.getByRole('status').filter({ hasText: text }).waitFor(PATIENCE);
}

/** The figure of a line in the legend of a chart. */
async function legend(page: Page, chart: string, line: string): Promise<number> {
  const card = page.getByRole('heading', { name: chart, exact: true }).locator('xpath=..');
  const row = card.locator('.u-series').filter({ has: page.locator(`.u-label:text-is("${line}")`) });
  return Number.parseFloat(await row.locator('.u-value').innerText());
}

test('a run is started, changed, watched, stopped, downloaded and discarded', async () => {
  const served1 = await served();
  const page = await browser.newPage();
  const complaints = complaintsOf(page, served1);
  await page.goto(served1.url);
  await state(page, 'Ready to start');
  expect(await page.getByLabel('URL').inputValue()).toMatch(/\/classify$/);
  expect(await page.getByLabel('To, s', { exact: true }).inputValue()).toBe('0.05');
  await page.getByRole('spinbutton', { name: 'Users', exact: true }).fill('4');
  await page.getByRole('button', { name: 'Start' }).click();
  await state(page, 'Running');
  expect(served1.run?.spec).toMatchObject({ traffic: { users: 4 }, failIf: ['error_rate > 1%'] });
  await expect.poll(() => tile(page, 'users'), PATIENCE).toBe(4);

  await page.getByRole('button', { name: 'Edit users' }).click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByLabel('Users', { exact: true }).inputValue()).toBe('4');
  await dialog.getByLabel('Users', { exact: true }).fill('9');
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await expect.poll(() => tile(page, 'users'), PATIENCE).toBe(9);
  expect(await dialog.count()).toBe(0);

  await page.getByRole('tab', { name: 'Charts' }).click();
  await expect.poll(() => legend(page, 'Users, requests in flight', 'users'), PATIENCE).toBe(9);
  expect(await legend(page, 'Requests per second', 'ok')).toBeGreaterThan(0);
  expect(await legend(page, 'Latency of successful requests', 'target')).toBe(1);
  expect(await legend(page, 'Mean batch size', 'batch size')).toBeGreaterThan(1);
  // Its width follows the page: it was hidden when it was made.
  const canvas = page.locator('.plot canvas').first();
  expect((await canvas.boundingBox())?.width).toBeGreaterThan(300);
  await page.getByRole('tab', { name: 'Latency split' }).click();
  expect(await legend(page, 'Mean latency, by part', 'queue')).toBe(0.2);
  await page.getByRole('tab', { name: 'Failures' }).click();
  await page.getByRole('cell', { name: '503 Service Unavailable' }).waitFor();
  expect(await page.getByRole('row').filter({ hasText: '429' }).innerText()).toContain('rejected');

  const startedAt = served1.run?.report().startedAt;
  await page.getByRole('button', { name: 'Reset' }).click();
  await expect.poll(() => served1.run?.report().startedAt, PATIENCE).not.toBe(startedAt);
  expect(served1.run?.state).toBe('running');

  await page.getByRole('button', { name: 'Stop' }).click();
  await state(page, 'Ended');
  const report = await served1.run?.ended;
  await page.getByRole('tab', { name: 'Statistics' }).click();
  const row = page.getByRole('row').filter({ hasText: 'POST /classify' });
  await expect
    .poll(() => row.getByRole('cell').first().innerText(), PATIENCE)
    .toBe(report?.total.count.toLocaleString('en'));
  expect(await page.getByRole('row').filter({ hasText: 'error_rate > 1%' }).innerText()).toContain('failed');

  await page.getByRole('tab', { name: 'Downloads' }).click();
  for (const [name, text] of [
    ['stats.csv', 'POST,/classify'],
    ['report.html', '<!doctype html>'],
    ['report.json', '"version": 1'],
  ] as const) {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(name);
    expect((await readFile(await download.path(), 'utf8')).toLowerCase()).toContain(text.toLowerCase());
  }

  await page.getByRole('button', { name: 'Reset' }).click();
  await state(page, 'Ready to start');
  expect(await page.getByRole('tab').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Start' }).isVisible()).toBe(true);
  expect(complaints).toEqual([]);
  await page.close();
});

test('a run with arrivals is started by keyboard, and a refusal is told', async () => {
  const served2 = await served();
  const page = await browser.newPage();
  await page.goto(served2.url);
  await state(page, 'Ready to start');
  await page.getByLabel('Arrival rate (open model)').focus();
  await page.keyboard.press('Space');
  await page.getByLabel('Arrivals').selectOption('steps');
  await page.getByRole('textbox', { name: 'Steps' }).fill('50:1, 20:1');
  await page.getByLabel('Duration, s').fill('1000');
  await page.getByLabel('URL').fill('http://127.0.0.1:9/');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: '127.0.0.1:9' }).waitFor(PATIENCE);
  const { work } = initial;
  await page.getByLabel('URL').fill(work.kind === 'target' ? work.target.url : '');
  await page.keyboard.press('Enter');
  await state(page, 'Running');
  expect(served2.run?.spec).toMatchObject({
    seconds: 1000,
    traffic: {
      schedule: {
        kind: 'steps',
        steps: [
          { perSecond: 50, seconds: 1 },
          { perSecond: 20, seconds: 1 },
        ],
      },
    },
  });
  expect(await page.getByRole('button', { name: 'Edit users' }).isVisible()).toBe(false);

  const selected = () => page.getByRole('tab', { selected: true }).innerText();
  await page.getByRole('tab', { name: 'Statistics' }).focus();
  for (const [key, tab] of [
    ['ArrowRight', 'Charts'],
    ['End', 'Downloads'],
    ['ArrowRight', 'Statistics'],
    ['ArrowLeft', 'Downloads'],
    ['Home', 'Statistics'],
  ] as const) {
    await page.keyboard.press(key);
    expect(await selected()).toBe(tab);
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(tab);
  }
  const outline = () => page.evaluate(() => getComputedStyle(document.activeElement as Element).outlineStyle);
  expect(await outline()).toBe('solid');
  expect(await page.getByRole('tabpanel').count()).toBe(1);
  await page.close();
  await served2.close();
});

test('a generator that is gone is said to be, and is back when it is', async () => {
  const first = await served();
  const page = await browser.newPage();
  await page.goto(first.url);
  await first.start();
  await state(page, 'Running');
  await first.close();
  await state(page, 'the load generator does not respond');
  expect(await page.locator('main.stale').count()).toBe(1);
  const second = await served({ port: Number(new URL(first.url).port) });
  await state(page, 'Ready to start');
  expect(await page.locator('main.stale').count()).toBe(0);
  expect(await page.getByRole('tab').count()).toBe(0);
  await page.close();
  await second.close();
});

test('a token in the address is kept out of it; a missing one is asked for', async () => {
  const guarded = await served({ token: 'open-sesame' });
  const page = await browser.newPage();
  await page.goto(guarded.url);
  await state(page, 'Ready to start');
  expect(page.url()).not.toContain('token');
  await page.reload();
  await state(page, 'Ready to start');
  await guarded.start();
  await state(page, 'Running');
  await page.getByRole('tab', { name: 'Downloads' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'history.csv' }).click(),
  ]);
  expect(await readFile(await download.path(), 'utf8')).toContain('Timestamp');
  await page.close();

  const other = await browser.newPage();
  await other.goto(new URL('/', guarded.url).href);
  await other.locator('input[name=token]').fill('wrong');
  await other.keyboard.press('Enter');
  expect(await other.getByRole('alert').filter({ hasText: 'Expected the token' }).isVisible()).toBe(true);
  expect(await other.getByRole('tab').count()).toBe(0);
  await other.locator('input[name=token]').fill('open-sesame');
  await other.keyboard.press('Enter');
  await state(other, 'Running');
  expect(await other.getByRole('form', { name: 'Token' }).count()).toBe(0);
  await other.close();
  await guarded.close();
});

test('nothing is wider than a phone, in the dark either', async () => {
  const small = await served();
  const page = await browser.newPage({ viewport: { width: 360, height: 740 }, colorScheme: 'dark' });
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  await page.goto(small.url);
  await state(page, 'Ready to start');
  expect(await width()).toBeLessThanOrEqual(360);
  await small.start();
  await expect.poll(() => tile(page, 'users'), PATIENCE).toBe(3);
  for (const tab of await page.getByRole('tab').all()) {
    await tab.click();
    expect(await width()).toBeLessThanOrEqual(360);
  }
  const color = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  expect(color).not.toBe('rgb(246, 247, 249)');
  await page.close();
  await small.close();
});
