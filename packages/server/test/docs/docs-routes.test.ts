import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { docsRoutes } from '../../src/docs/docs-routes.js';
import { openApiDocument } from '../../src/docs/open-api-document.js';
import { Router } from '../../src/http/router.js';
import { FakeCall, type FakeReply } from '../service/support/fake-call.js';

const routes = docsRoutes(() => openApiDocument({ name: 'A <b> & "c"', version: '1', models: new Map() }));
const router = new Router(routes);

async function got(path: string, headers: Record<string, string> = {}): Promise<FakeReply> {
  const { route } = router.find('GET', path);
  const call = new FakeCall({ method: 'GET', path, headers });
  await route.handle(call);
  return call.replied;
}

test('/docs.json is the document', async () => {
  const reply = await got('/docs.json');
  expect(reply.headers['content-type']).toBe('application/json');
  expect(JSON.parse(String(reply.body)).openapi).toBe('3.1.0');
});

// It was written anew for each request: one client that asked again and again took 97 % of the throughput of others.
test('/docs.json is written once for each document', async () => {
  const documentOf = (version: string) => openApiDocument({ name: 'a', version, models: new Map() });
  let current = documentOf('1');
  const [jsonRoute] = docsRoutes(() => current, { hasRoot: false });
  const body = async () => {
    const call = new FakeCall({ method: 'GET', path: '/docs.json', headers: {} });
    await jsonRoute?.handle(call);
    return (await call.replied).body;
  };
  const before = await body();
  expect(await body()).toBe(before);
  current = documentOf('2');
  expect(JSON.parse(String(await body())).info.version).toBe('2');
});

test('/ leads to /docs, unless a service wants it', async () => {
  expect(await got('/')).toMatchObject({ status: 302, headers: { location: 'docs' } });
  const without = docsRoutes(() => openApiDocument({ name: 'a', version: '1', models: new Map() }), {
    hasRoot: false,
  });
  expect(without.map(({ path }) => path)).not.toContain('/');
});

test('/docs is a page under a policy that allows nothing inline and nothing from elsewhere', async () => {
  const { headers, body } = await got('/docs');
  const page = String(body);
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  expect(headers['content-security-policy']).toContain(
    "default-src 'none'; script-src 'self'; style-src 'self'",
  );
  expect(headers['content-security-policy']).not.toContain('unsafe');
  expect(page).toContain('<title>API docs: A &lt;b&gt; &amp; &quot;c&quot;</title>');
  expect(page).not.toMatch(/<script(?! src=)|style=|https?:/);
  expect((await got('/docs/')).status).toBe(301);
});

test('every file that the page names is there, of its type and for ever', async () => {
  const page = String((await got('/docs')).body);
  const addresses = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
  expect(addresses).toHaveLength(4);
  const types = [
    'image/png',
    'text/css; charset=utf-8',
    'text/javascript; charset=utf-8',
    'text/javascript; charset=utf-8',
  ];
  for (const [i, address] of addresses.entries()) {
    const url = new URL(address, 'http://server/docs');
    expect(url.search).toMatch(/^\?v=\d+\.\d+\.\d+$/);
    const { status, headers, body } = await got(url.pathname);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': types[i],
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    });
    expect(body.length).toBeGreaterThan(100);
    const zipped = await got(url.pathname, { 'accept-encoding': 'br, gzip;q=0.8' });
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(zipped.body as Buffer).equals(body as Buffer)).toBe(true);
    expect((await got(url.pathname, { 'accept-encoding': 'gzip;q=0' })).headers).not.toHaveProperty(
      'content-encoding',
    );
  }
});

test.each([
  '/docs/../package.json',
  '/docs/..%2f..%2fpackage.json',
  '/docs/package.json',
  '/docs/%2e%2e/index.js',
  '/docs//etc/passwd',
  '/docs/swagger-ui-bundle.js.map',
  '/docs/__proto__',
])('nothing else is: %s', (path) => {
  expect(() => router.find('GET', path)).toThrow(/There is no route for/);
});

test('metrics know the page and its files by one name', () => {
  const labels = routes.map(({ path, label = path }) => label);
  expect(new Set(labels)).toEqual(new Set(['/', '/docs.json', '/docs']));
});
