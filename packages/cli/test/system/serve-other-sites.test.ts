/** What a page of another site can have a real browser do to a server on the same machine: nothing. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findProgram, testPrograms } from '../../../../scripts/test-programs.js';
import { fixture, Serving } from './support/serving.js';

let browser: Browser;
let serving: Serving;
/** By their addresses. */
const opened = new Map<string, Page>();
/** Any page, of another origin: the same host at another port is one. */
const pages = createServer((_, response) => {
  response.setHeader('content-type', 'text/html').end('<!doctype html><title>Other</title>');
});

beforeAll(async () => {
  const executablePath = findProgram(testPrograms.chromium);
  if (executablePath === undefined) {
    throw new Error('There is no Chromium: run node scripts/test-requirements.js first.');
  }
  pages.listen(0, '127.0.0.1');
  await once(pages, 'listening');
  serving = await Serving.start([fixture('counting-service.ts')]);
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
});

afterAll(async () => {
  await browser?.close();
  pages.close();
  await Serving.endAll();
});

const own = () => `http://127.0.0.1:${serving.port}`;
const hits = async () => ((await (await fetch(`${own()}/hits`)).json()) as { hits: number }).hits;

/** Sends the request of the page's code, whether its answer may be read or not; resolves when it is answered. */
async function sentFrom(address: string, path: string, init: string): Promise<string> {
  const page = opened.get(address) ?? (await browser.newPage());
  if (!opened.has(address)) await page.goto(address);
  opened.set(address, page);
  const said = await page.evaluate(
    `fetch(${JSON.stringify(own() + path)}, { method: 'POST', ...${init} })
      .then((answer) => answer.status || 'sent', () => 'blocked')`,
  );
  return String(said);
}

const REQUESTS: [what: string, init: string, expected: string][] = [
  ['text/plain', `{ body: '{}', mode: 'no-cors' }`, 'sent'],
  ['a form', `{ body: new URLSearchParams({ a: 'b' }), mode: 'no-cors' }`, 'sent'],
  ['a form with files', `{ body: new FormData(), mode: 'no-cors' }`, 'sent'],
  ['no content type', `{ body: new Blob(['{}']), mode: 'no-cors' }`, 'sent'],
  ['no body', `{ mode: 'no-cors' }`, 'sent'],
  ['JSON', `{ body: '{}', headers: { 'content-type': 'application/json' } }`, 'blocked'],
];

// A POST of text/plain, which a browser sends for any page without asking first, was read as JSON.
test.each(REQUESTS)(
  'a POST of %s from a page of another site does nothing',
  async (_what, init, expected) => {
    const { port } = pages.address() as AddressInfo;
    for (const host of ['127.0.0.1', 'localhost']) {
      for (const path of ['/hit', '/hit-with']) {
        expect(await sentFrom(`http://${host}:${port}/`, path, init)).toBe(expected);
      }
    }
    expect(await hits()).toBe(0);
  },
);

test('a page of the server itself may send what it likes, but no text', async () => {
  const before = await hits();
  expect(await sentFrom(`${own()}/livez`, '/hit', '{}')).toBe('200');
  expect(await sentFrom(`${own()}/livez`, '/hit-with', `{ body: new Blob(['{}']) }`)).toBe('200');
  expect(await sentFrom(`${own()}/livez`, '/hit-with', `{ body: '{}' }`)).toBe('415');
  expect(await hits()).toBe(before + 2);
});
