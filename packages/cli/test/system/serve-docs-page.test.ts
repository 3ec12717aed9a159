/** The page at /docs in a real browser, as somebody opens it who has just started the example. */
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { findProgram, testPrograms } from '../../../../scripts/test-programs.js';
import { root, Serving } from './support/serving.js';

afterAll(() => Serving.endAll());

test('/ leads to a page that shows all that can be asked, and on which it can be tried', async () => {
  const executablePath = findProgram(testPrograms.chromium);
  if (executablePath === undefined) {
    throw new Error('There is no Chromium: run node scripts/test-requirements.js first.');
  }
  const serving = await Serving.start([join(root, 'examples/service/service.ts')]);
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('request', (request) => {
      const { port, protocol } = new URL(request.url());
      if (protocol !== 'data:' && port !== String(serving.port)) complaints.push(request.url());
    });
    await page.goto(`http://127.0.0.1:${serving.port}/`);
    const operations = page.locator('.opblock-summary-path');
    await operations.first().waitFor();
    const paths = await operations.allInnerTexts();
    expect(paths.map((path) => path.replaceAll('\u200b', ''))).toEqual(
      expect.arrayContaining(['/classify', '/both', '/v1/models/iris:predict', '/v2/models/digits/infer']),
    );
    await page.locator('.opblock-summary').first().click();
    await page.locator('button.execute').click();
    const answer = page.locator('.live-responses-table .response-col_description pre').first();
    await answer.waitFor();
    expect(await answer.innerText()).toContain('"virginica"');
    expect(complaints).toEqual([]);
  } finally {
    await browser.close();
  }
});
