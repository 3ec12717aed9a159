import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { dashboardRoutes } from '../../src/docs/dashboard-routes.js';
import { Router } from '../../src/http/router.js';
import { FakeCall, type FakeReply } from '../service/support/fake-call.js';

const routes = dashboardRoutes('A <b> & "c"');
const router = new Router(routes);

async function got(path: string): Promise<FakeReply> {
  const { route } = router.find('GET', path);
  const call = new FakeCall({ method: 'GET', path });
  await route.handle(call);
  return call.replied;
}

test('/dashboard is a page under a policy that allows nothing inline and nothing from elsewhere', async () => {
  const { headers, body } = await got('/dashboard');
  expect(headers['content-security-policy']).toContain(
    "default-src 'none'; script-src 'self'; style-src 'self'",
  );
  expect(String(body)).toContain('<title>Dashboard: A &lt;b&gt; &amp; &quot;c&quot;</title>');
  expect(String(body)).not.toMatch(/<script(?! type="module" src=)|style=|href="https?:/);
  expect(await got('/dashboard/')).toMatchObject({ status: 301, headers: { location: '../dashboard' } });
});

test('every file that the page names, or that one of its modules does, is there', async () => {
  const toRead = [...String((await got('/dashboard')).body).matchAll(/(?:src|href)="(dashboard[^"]+)"/g)];
  const addresses = new Set(toRead.map(([, address = '']) => `/${address}`));
  expect(addresses.size).toBe(3);
  for (const address of addresses) {
    const { status, headers, body } = await got(address);
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('no-cache');
    for (const [, name = ''] of String(body).matchAll(/^import .*from '\.\/([^']+)';$/gm)) {
      addresses.add(`/dashboard/${name}`);
    }
  }
  // None is forgotten, and none is served that nobody needs.
  const modules = readdirSync(fileURLToPath(new URL('../../../dashboard/src/page', import.meta.url)));
  const expected = modules.map((name) => `/dashboard/${name.replace(/(?:\.d)?\.ts$/, '.js')}`);
  expect([...addresses].filter((address) => address.endsWith('.js')).sort()).toEqual(expected.sort());
});

test('metrics know the page and its files by one name', () => {
  expect(new Set(routes.map(({ path, label = path }) => label))).toEqual(new Set(['/dashboard']));
});
