/** The report's page in a real browser: opened as a file, as its reader does. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { findProgram, testPrograms } from '../../../../scripts/test-programs.js';
import type { LoadReport } from '../../src/report/load-report.js';
import { reportHtml } from '../../src/report/report-html.js';
import { judge, parseThreshold } from '../../src/report/threshold.js';
import { busyMinute, scriptedReport } from '../support/scripted-report.js';

/** Long words without a space are what breaks a layout. */
const LONG = 'a_very_long_name_without_any_place_to_break_it_that_would_not_fit_a_phone_at_all';
const HOSTILE = `"><img src=x onerror="document.title='broken'"><script>document.title='broken'</script>`;

const busy = busyMinute();

let folder: string;
let browser: Browser;
/** What a page did that it should not: errors, and requests for anything but itself. */
const complaints: string[] = [];

beforeAll(async () => {
  const executablePath = findProgram(testPrograms.chromium);
  if (executablePath === undefined) {
    throw new Error('There is no Chromium: run node scripts/test-requirements.js first.');
  }
  folder = await mkdtemp(join(tmpdir(), 'load-report-'));
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
});

afterAll(async () => {
  await browser?.close();
  if (folder !== undefined) await rm(folder, { recursive: true });
});

afterEach(() => {
  expect(complaints.splice(0)).toEqual([]);
});

function longNames(): LoadReport {
  const report = scriptedReport({
    seconds: [
      [
        { ms: 12_345.6, lateMs: 500, name: LONG, outcome: { batchSize: 1000, queueMs: 1, computeMs: 3 } },
        { ms: 10, name: 'b', outcome: { batchSize: 999, queueMs: 1, computeMs: 3 } },
        { ms: 1, name: LONG, outcome: { kind: 'failed', reason: LONG } },
        { ms: 1, name: HOSTILE, outcome: { kind: 'rejected', reason: HOSTILE } },
      ],
    ],
    target: `http://localhost/${LONG}`,
    cpuShare: 0.99,
    targetLatencyMs: 50,
  });
  return { ...report, verdicts: judge(report, [parseThreshold('p99 > 100ms')]) };
}

async function open(report: LoadReport, viewport = { width: 1280, height: 900 }): Promise<Page> {
  const file = join(folder, 'report.html');
  await writeFile(file, reportHtml(report));
  const address = pathToFileURL(file).href;
  const page = await browser.newPage({ viewport });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => complaints.push(message.text()));
  page.on('request', (request) => {
    const url = request.url();
    if (url !== address && !url.startsWith('data:')) complaints.push(`asked for ${url}`);
  });
  await page.goto(address);
  return page;
}

test.each([
  ['a busy run', busy],
  ['a run with long names', longNames()],
])('%s does not stick out sideways', async (_, report) => {
  const page = await open(report);
  for (const width of [320, 360, 720, 820, 1280]) {
    await page.setViewportSize({ width, height: 740 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  }
  await page.close();
});

test('names and reasons are shown as text', async () => {
  const page = await open(longNames());
  expect(await page.title()).toBe(`Load report: http://localhost/${LONG}`);
  expect(await page.locator('img').count()).toBe(0);
  expect(await page.getByText(HOSTILE).count()).toBeGreaterThanOrEqual(2);
  await page.close();
});

test('values are read out by the arrow keys, percentiles as such', async () => {
  const page = await open(busy);
  await page.locator('svg[data-readout]:visible').first().focus();
  await page.keyboard.press('ArrowRight');
  expect(await page.locator('.readout').innerText()).toMatch(/^time 0\.5\n(.*\n)*all\n40/);
  await page.locator('svg[data-readout]:visible').nth(2).focus();
  for (let i = 0; i < 8; i++) await page.keyboard.press('ArrowRight');
  expect(await page.locator('.readout b').innerText()).toBe('percentile 99 %');
  await page.close();
});

test('dark and light are the reader’s choice', async () => {
  const page = await open(busy);
  const colours = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    colours.push(await page.evaluate(`getComputedStyle(document.querySelector('.plot-series-1')).color`));
  }
  expect(new Set(colours).size).toBe(2);
  await page.close();
});

test('on paper no table is cut off', async () => {
  const page = await open(busy, { width: 720, height: 1000 });
  await page.emulateMedia({ media: 'print' });
  const cut = await page
    .locator('.scrolls')
    .evaluateAll(
      (tables: { scrollWidth: number; clientWidth: number }[]) =>
        tables.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length,
    );
  expect(cut).toBe(0);
  await page.close();
});
