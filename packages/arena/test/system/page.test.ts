/** The arena's page in a real browser, opened as a file. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findProgram, testPrograms } from '../../../../scripts/test-programs.js';
import { arenaPage } from '../../src/page/arena-page.js';
import type { Showcase } from '../../src/page/showcase.js';
import { lineChart } from '../../src/plot/line-chart.js';
import { smallShowcase } from '../support/small-showcase.js';

const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };

/** Long words without a space may break the layout. */
const LONG = 'a_very_long_name_without_any_place_to_break_it_that_would_not_fit_a_phone';

let folder: string;
let address: string;
let browser: Browser;
/** Errors of a page, and requests for anything but itself. */
let complaints: string[] = [];

beforeAll(async () => {
  const executablePath = findProgram(testPrograms.chromium);
  if (executablePath === undefined) {
    throw new Error('There is no Chromium: run node scripts/test-requirements.js first.');
  }
  folder = await mkdtemp(join(tmpdir(), 'arena-page-'));
  const file = join(folder, 'arena.html');
  await writeFile(file, arenaPage(pageData(twoBackends(await smallShowcase()))));
  address = pathToFileURL(file).href;
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
});

afterAll(async () => {
  await browser?.close();
  if (folder !== undefined) await rm(folder, { recursive: true });
});

afterEach(() => {
  expect(complaints.splice(0)).toEqual([]);
});

function twoBackends({ contenders, cells }: Showcase): Showcase {
  const others = cells.map((cell) => ({ ...cell, curve: 'other', title: 'Another' }));
  return { contenders, cells: [...cells, ...others] };
}

function pageData(showcase: Showcase) {
  const target = {
    number: 1,
    what: LONG,
    goal: `≤ 1.01 ${LONG}`,
    measured: '1.004',
    worst: LONG,
    reached: true,
  };
  const family = { family: LONG, cells: 3, toBound: 1, toBestPeer: 0.9, bestPeer: LONG, worstCell: LONG };
  return { showcase, targets: [target], families: [family], facts: [{ name: LONG, value: LONG }] };
}

type OpenOptions = {
  viewport?: typeof DESKTOP;
  colorScheme?: 'light' | 'dark';
  javaScriptEnabled?: boolean;
  hash?: string;
};

async function open({ hash = '', ...options }: OpenOptions = {}): Promise<Page> {
  complaints = [];
  const page = await browser.newPage({ viewport: DESKTOP, ...options });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => complaints.push(message.text()));
  page.on('request', (request) => {
    const url = request.url();
    if (url.split('#')[0] !== address && !url.startsWith('data:')) complaints.push(`request for ${url}`);
  });
  await page.goto(address + hash);
  return page;
}

function shownPanels(page: Page): Promise<string[]> {
  return page.locator('.panel:visible').evaluateAll((panels: { id: string }[]) => panels.map(({ id }) => id));
}

describe.each([DESKTOP, { width: 820, height: 1100 }, PHONE, { width: 320, height: 600 }])(
  'at $width pixels',
  (viewport) => {
    let page: Page;

    beforeAll(async () => {
      page = await open({ viewport });
    });

    afterAll(() => page?.close());

    test('every backend has one set of plots for this width', async () => {
      expect(await page.locator('.grid svg:visible').count()).toBe(4);
      expect(await page.locator('.timelines svg:visible').count()).toBe(4);
    });

    test.each(['light', 'dark'] as const)('nothing overflows horizontally (%s)', async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      for (const input of await page.locator('.controls input').all()) {
        await input.check();
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
      }
    });
  },
);

describe('a backend', () => {
  test('is selected by its tab', async () => {
    const page = await open();
    expect(await shownPanels(page)).toEqual(['backend-1-slots-1']);
    await page.getByLabel('Another').check();
    expect(await shownPanels(page)).toEqual(['backend-2-slots-1']);
    await page.getByLabel('2', { exact: true }).check();
    expect(await shownPanels(page)).toEqual(['backend-2-slots-2']);
    expect(page.url()).toMatch(/#backend-2-slots-2$/);
    await page.close();
  });

  test('is selected with the keyboard', async () => {
    const page = await open();
    await page.getByLabel('Small').focus();
    await page.keyboard.press('ArrowRight');
    expect(await shownPanels(page)).toEqual(['backend-2-slots-1']);
    await page.close();
  });

  test('is selected by the address', async () => {
    const page = await open({ hash: '#backend-1-slots-2' });
    expect(await shownPanels(page)).toEqual(['backend-1-slots-2']);
    expect(await page.getByLabel('2', { exact: true }).isChecked()).toBe(true);
    await page.close();
  });
});

describe('values', () => {
  test('are shown under the pointer', async () => {
    const page = await open();
    const plot = page.locator('.panel:visible svg[data-readout]:visible').first();
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    if (box === null) throw new Error('The plot is not drawn.');
    await page.mouse.move(box.x + box.width / 3, box.y + box.height / 2);
    expect(await page.locator('.readout').innerText()).toMatch(/^load 0\.\d\n(.+\n[\d.]+\n?){3}$/);
    await page.mouse.move(5, 5);
    expect(await page.locator('.readout').count()).toBe(0);
    await page.close();
  });

  test('are shown with the arrow keys', async () => {
    const page = await open();
    const plot = page.locator('.panel:visible svg[data-readout]:visible').first();
    await plot.focus();
    await page.keyboard.press('ArrowRight');
    expect(await page.locator('.readout b').innerText()).toBe('load 0.05');
    await page.keyboard.press('ArrowRight');
    expect(await page.locator('.readout b').innerText()).toBe('load 0.1');
    await page.keyboard.press('Escape');
    expect(await page.locator('.readout').count()).toBe(0);
    await page.close();
  });

  test('stay within the window of a phone', async () => {
    const page = await open({ viewport: PHONE });
    await page.locator('.panel:visible svg[data-readout]:visible').first().focus();
    for (let i = 0; i < 12; i++) {
      await page.keyboard.press('ArrowRight');
      const box = await page.locator('.readout').boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(PHONE.width);
    }
    await page.close();
  });
});

test('without scripts, everything is visible', async () => {
  const page = await open({ javaScriptEnabled: false });
  expect(await shownPanels(page)).toHaveLength(4);
  expect(await page.locator('.controls').isVisible()).toBe(false);
  await page.close();
});

test('a printed page has no controls, and colours for paper', async () => {
  const page = await open({ colorScheme: 'dark' });
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  expect(await page.locator('.controls').isVisible()).toBe(false);
  expect(await page.locator('.grid .narrow svg:visible').count()).toBe(4);
  expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
  expect(await page.evaluate(`getComputedStyle(document.querySelector('.plot-paper')).color`)).toBe(
    'rgb(255, 255, 255)',
  );
  await page.close();
});

test('dark and light mode follow the preference of the reader', async () => {
  const colours = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await open({ colorScheme });
    colours.push(await page.evaluate(`getComputedStyle(document.querySelector('.plot-series-1')).color`));
    await page.close();
  }
  expect(colours).toEqual(['rgb(10, 84, 214)', 'rgb(107, 166, 255)']);
});

test('a chart as a file is valid in a browser', async () => {
  const page = await browser.newPage();
  const svg = lineChart({
    title: 'Alone',
    x: { label: 'load' },
    y: { label: 'ms' },
    series: [
      {
        name: `<&"'\u0001`,
        points: [
          [0, 1],
          [1, 2],
        ],
      },
    ],
  });
  const file = join(folder, 'alone.svg');
  await writeFile(file, svg);
  await page.goto(pathToFileURL(file).href);
  // A failing XML parser puts its error into the document.
  expect(
    await page.evaluate(
      `document.querySelector('parsererror')?.textContent ?? document.documentElement.localName`,
    ),
  ).toBe('svg');
  await page.close();
});
