/** Upstreams over TLS, which want to know who calls. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createUpstreamRunner, predictor, type UpstreamSettings } from '../../src/index.js';
import { settingsWith } from '../support/settings.js';
import { startUpstream } from '../support/upstream-process.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-upstream-tls-'));
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'key.pem'];
  execFileSync('openssl', ['req', '-x509', ...key, '-out', 'cert.pem', '-days', '2', ...names], {
    cwd: folder,
    stdio: 'pipe',
  });
  vi.stubEnv('TLS_FOLDER', folder);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

async function ask(url: string, changes: Partial<UpstreamSettings>): Promise<unknown> {
  const defaults = settingsWith();
  const upstream = { ...defaults.upstream, startTimeoutMs: 2000, url: [url], ...changes };
  const runner = createUpstreamRunner({ name: 'double', settings: { ...defaults, upstream } });
  onTestFinished(() => runner.close({ timeoutMs: 0 }));
  await runner.ready;
  return predictor(runner).predict([1, 2]);
}

test.each([
  ['grpc-upstream.mjs', 'grpcs'],
  ['http-upstream.mjs', 'https'],
])('%s is asked over TLS by those whom it knows', async (file, scheme) => {
  const upstream = await startUpstream(file);
  const url = `${scheme}://localhost:${upstream.port}`;
  const caFile = join(folder, 'cert.pem');
  const own = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  expect(await ask(url, { caFile, ...own })).toEqual([2, 4]);
  await expect(ask(url, { caFile })).rejects.toThrow(/was not ready within/);
  await expect(ask(url, own)).rejects.toThrow(/self[- ]signed/i);
});

test('a certificate without its key, or a file that is not there, is told before anything is sent', () => {
  const { upstream, ...settings } = settingsWith();
  const make = (changes: Partial<UpstreamSettings>) => () =>
    createUpstreamRunner({
      name: 'm',
      settings: { ...settings, upstream: { ...upstream, url: ['grpcs://localhost:1'], ...changes } },
    });
  expect(make({ certFile: 'cert.pem' })).toThrow(/expected both certFile and keyFile, got no keyFile/);
  expect(make({ caFile: '/nowhere/ca.pem' })).toThrow(/caFile: \/nowhere\/ca\.pem cannot be read/);
});
