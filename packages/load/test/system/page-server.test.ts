/** The server of the load page, asked over real connections as browsers, scripts and other sites ask it. */
import { readdirSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Downloads, type LoadPage, type RunSpec, startLoadPage, startRun } from '../../src/index.js';

const target = createServer((asked, answer) => {
  asked.resume().on('end', () => answer.end('{}'));
});
const pages: LoadPage[] = [];
let initial: RunSpec;

beforeAll(async () => {
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/classify`;
  initial = {
    work: { kind: 'target', target: { url } },
    traffic: { kind: 'users', users: 2, spawnRate: 100, waitTime: { kind: 'constant', seconds: 0.01 } },
  };
});

afterAll(async () => {
  for (const page of pages) await page.close();
  target.close();
  target.closeAllConnections();
});

const DOWNLOADS: Downloads = {
  'report.html': ({ target }) => `<p>${target}`,
  'report.json': (report) => JSON.stringify(report),
  'stats.csv': ({ total }) => `count\n${total.count}\n`,
  'history.csv': () => 'history',
  'failures.csv': () => 'failures',
};

async function started(options: { host?: string; token?: string } = {}): Promise<LoadPage> {
  const page = await startLoadPage({ port: 0, initial, start: startRun, downloads: DOWNLOADS, ...options });
  pages.push(page);
  return page;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** With the headers as given: `fetch` would not send another Host. */
function ask(page: LoadPage, path: string, { method, headers, body }: Asked = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(page.url);
    const options = { host: '127.0.0.1', port, path, method: method ?? 'GET', headers: { ...headers } };
    const asked = request(options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          body: String(Buffer.concat(chunks)),
        }),
      );
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

function post(page: LoadPage, path: string, body: unknown, headers: Record<string, string> = {}) {
  const all = { 'content-type': 'application/json', ...headers };
  return ask(page, path, { method: 'POST', headers: all, body: JSON.stringify(body) });
}

describe('a page at a loopback address', () => {
  let page: LoadPage;
  beforeAll(async () => {
    page = await started();
  });

  test('answers under its own name only', async () => {
    expect((await ask(page, '/report.json')).status).toBe(200);
    for (const path of ['/', '/report.json', '/load-page/main.js', '/download/stats.csv']) {
      const answer = await ask(page, path, { headers: { host: 'rebound.example.org' } });
      expect(answer.status).toBe(421);
      expect(JSON.parse(answer.body).detail).toContain('loopback');
    }
  });

  test('is changed by no page of another site', async () => {
    const { host } = new URL(page.url);
    const foreign = [
      { origin: 'http://example.org' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site', origin: `http://${host}` },
    ];
    for (const path of ['/start', '/stop', '/reset', '/users']) {
      for (const headers of foreign) expect((await post(page, path, {}, headers)).status).toBe(403);
    }
    // What a form or a script of another site can send without a preflight.
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const body = JSON.stringify({ users: 1 });
      const answer = await ask(page, '/start', { method: 'POST', headers: { 'content-type': type }, body });
      expect(answer.status).toBe(415);
    }
    expect((await ask(page, '/start', { method: 'OPTIONS' })).headers).not.toHaveProperty(
      'access-control-allow-origin',
    );
    expect(page.run).toBeUndefined();
  });

  test('lets nothing from elsewhere in, and is framed by no other page', async () => {
    for (const path of ['/', '/report.json', '/nothing']) {
      const { headers } = await ask(page, path);
      expect(headers['content-security-policy']).toContain("default-src 'self'");
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers['content-security-policy']).not.toContain('unsafe');
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['x-frame-options']).toBe('DENY');
      expect(headers['cross-origin-resource-policy']).toBe('same-origin');
    }
  });

  test('serves every file that it names, and every module that one of them imports', async () => {
    const { body } = await ask(page, '/');
    expect(body).not.toMatch(/<script(?! type="module" src=)|style=|(?:src|href)="https?:/);
    const paths = new Set([...body.matchAll(/(?:src|href)="([^":]+)"/g)].map(([, name]) => `/${name}`));
    expect(paths.size).toBe(3);
    for (const path of paths) {
      const file = await ask(page, path);
      expect([path, file.status]).toEqual([path, 200]);
      for (const [, name = ''] of file.body.matchAll(/^import .*from '(\.[^']+)';$/gm)) {
        paths.add(new URL(name, `http://localhost${path}`).pathname);
      }
    }
    const folder = new URL('../../../dashboard/src/load-page', import.meta.url);
    const modules = readdirSync(fileURLToPath(folder)).filter((name) => name !== 'page-state.ts');
    const expected = modules.map((name) => `/load-page/${name.replace('.ts', '.js')}`).sort();
    expect([...paths].filter((path) => path.startsWith('/load-page/')).sort()).toEqual(expected);
  });

  test('says what is wrong with a request', async () => {
    expect((await ask(page, '/nothing')).status).toBe(404);
    expect((await ask(page, '/download/other.csv')).status).toBe(404);
    expect((await ask(page, '/load-page/../../package.json')).status).toBe(404);
    expect(await ask(page, '/start')).toMatchObject({ status: 405, headers: { allow: 'POST' } });
    expect((await ask(page, '/download/stats.csv')).status).toBe(409);
    expect((await post(page, '/stop', {})).status).toBe(409);
    const json = { 'content-type': 'application/json' };
    const broken = await ask(page, '/start', { method: 'POST', headers: json, body: '{' });
    expect([broken.status, JSON.parse(broken.body).detail]).toEqual([400, expect.stringContaining('JSON')]);
    const large = await ask(page, '/start', { method: 'POST', headers: json, body: ' '.repeat(100_000) });
    expect(large.status).toBe(413);
  });

  test.each([
    [{ users: -1 }, 'users'],
    [{ users: 1, spawn_rate: -5 }, 'spawnRate: expected a rate per second above 0'],
    [{ users: 1, url: 'nowhere' }, 'nowhere'],
    [{ users: 1, url: 'http://127.0.0.1:9/' }, '127.0.0.1:9'],
    [{ arrivals: { kind: 'poisson', per_second: 0 } }, 'perSecond: expected a rate per second above 0'],
    [{ users: 1, seconds: 0 }, 'seconds: expected a number above 0'],
    [{ users: 1, color: 'red' }, 'unknown key color'],
  ])('starts no run for %j, and says why', async (body, why) => {
    const answer = await post(page, '/start', body);
    expect([answer.status, JSON.parse(answer.body).detail]).toEqual([400, expect.stringContaining(why)]);
    expect(page.run).toBeUndefined();
  });

  test('starts, changes and stops a run for a script as well', async () => {
    expect((await post(page, '/start', { users: 2, spawn_rate: 100 })).status).toBe(200);
    expect((await post(page, '/start', { users: 2 })).status).toBe(409);
    expect((await post(page, '/users', { users: 3, spawn_rate: 100 })).status).toBe(200);
    expect((await post(page, '/users', { users: -3, spawn_rate: 100 })).status).toBe(400);
    expect(page.run?.report().traffic).toMatchObject({ users: 3 });
    await expect.poll(() => page.run?.report().total.ok, { timeout: 300_000 }).toBeGreaterThan(0);
    expect((await post(page, '/stop', {})).status).toBe(200);
    const report = await page.run?.ended;
    expect(JSON.parse((await ask(page, '/report.json')).body)).toMatchObject({ run: 1, state: 'ended' });
    const csv = await ask(page, '/download/stats.csv');
    expect(csv.headers['content-disposition']).toBe('attachment; filename="stats.csv"');
    expect(csv.body).toBe(`count\n${report?.total.count}\n`);
    expect((await post(page, '/reset', {})).status).toBe(200);
    expect(JSON.parse((await ask(page, '/report.json')).body)).toMatchObject({ state: 'ready' });
  });
});

describe('a page at another address', () => {
  test('has a token, which every figure and every change needs', async () => {
    const page = await started({ host: '0.0.0.0' });
    const token = new URL(page.url).searchParams.get('token') ?? '';
    expect(token.length).toBeGreaterThanOrEqual(32);
    const bearer = { authorization: `Bearer ${token}` };
    expect((await ask(page, '/')).status).toBe(200);
    for (const path of ['/report.json', '/download/stats.csv', '/nothing']) {
      const answer = await ask(page, path);
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    }
    for (const path of ['/start', '/stop', '/reset', '/users']) {
      expect((await post(page, path, {})).status).toBe(401);
      expect((await post(page, `${path}?token=${token}`, {})).status).toBe(401);
      expect((await post(page, path, {}, { authorization: 'Bearer wrong' })).status).toBe(401);
    }
    expect((await ask(page, '/report.json', { headers: bearer })).status).toBe(200);
    expect((await ask(page, `/report.json?token=${token}`)).status).toBe(200);
    expect((await post(page, '/stop', {}, bearer)).status).toBe(409);
  });

  test('takes the token that it is given', async () => {
    const page = await started({ token: 'a+b' });
    expect(page.url).toMatch(/\?token=a%2Bb$/);
    expect((await ask(page, '/report.json')).status).toBe(401);
    expect((await ask(page, '/report.json', { headers: { authorization: 'Bearer a+b' } })).status).toBe(200);
    for (const wrong of ['', 'two words', 'ö']) {
      await expect(started({ token: wrong })).rejects.toThrow('token: expected visible ASCII characters');
    }
  });
});

test('a port that is in use is named', async () => {
  const { port } = target.address() as AddressInfo;
  const page = startLoadPage({ port, initial, start: startRun, downloads: DOWNLOADS });
  await expect(page).rejects.toThrow(
    `Cannot listen on 127.0.0.1:${port} for the load page: the port is already in use`,
  );
});
