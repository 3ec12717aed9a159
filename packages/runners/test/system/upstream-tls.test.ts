/** Upstreams over TLS with client certificates. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createUpstreamRunner, predictor, type UpstreamSettings } from '../../src/index.js';
import { settingsWith } from '../support/settings.js';
import { startFailure } from '../support/start-failure.js';
import { startUpstream } from '../support/upstream-process.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-upstream-tls-'));
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
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
  const upstream = { ...defaults.upstream, url: [url], ...changes };
  const runner = createUpstreamRunner({ name: 'double', settings: { ...defaults, upstream } });
  onTestFinished(() => runner.close({ timeoutMs: 0 }));
  await runner.ready;
  return predictor(runner).predict([1, 2]);
}

test.each([
  ['grpc-upstream.mjs', 'grpcs'],
  ['http-upstream.mjs', 'https'],
])('%s accepts clients with a valid certificate over TLS', async (file, scheme) => {
  const upstream = await startUpstream(file);
  const url = `${scheme}://localhost:${upstream.port}`;
  const caFile = join(folder, 'cert.pem');
  const own = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  expect(await ask(url, { caFile, ...own })).toEqual([2, 4]);
  await expect(ask(url, { caFile, startTimeoutMs: 2000 })).rejects.toThrow(/was not ready within/);
  const why = /self[- ]signed/i;
  const error = await startFailure((startTimeoutMs) => ask(url, { ...own, startTimeoutMs }), why);
  expect(error).toMatchObject({ message: expect.stringMatching(why) });
});

test.each([
  ['grpc-upstream.mjs', 'grpcs'],
  ['http-upstream.mjs', 'https'],
])('%s can be reached by its IP address with serverName', async (file, scheme) => {
  const upstream = await startUpstream(file);
  const url = `${scheme}://127.0.0.1:${upstream.port}`;
  const files = {
    caFile: join(folder, 'cert.pem'),
    certFile: join(folder, 'cert.pem'),
    keyFile: join(folder, 'key.pem'),
  };
  expect(await ask(url, { ...files, serverName: 'localhost' })).toEqual([2, 4]);
  const why = /127\.0\.0\.1 is not in the cert/;
  const error = await startFailure((startTimeoutMs) => ask(url, { ...files, startTimeoutMs }), why);
  expect(error).toMatchObject({ message: expect.stringMatching(why) });
});

test('a certificate without its key, a missing file and an invalid file are rejected before a connection', () => {
  const { upstream, ...settings } = settingsWith();
  const make = (changes: Partial<UpstreamSettings>) => () =>
    createUpstreamRunner({
      name: 'm',
      settings: { ...settings, upstream: { ...upstream, url: ['grpcs://localhost:1'], ...changes } },
    });
  expect(make({ certFile: 'cert.pem' })).toThrow(
    /^m: upstream: expected both cert_file and key_file, got no key_file/,
  );
  expect(make({ caFile: '/nowhere/ca.pem' })).toThrow(
    /^m: upstream\.ca_file: \/nowhere\/ca\.pem cannot be read/,
  );
  // Root cause: for a file without certificates Node trusts no authority, so only the first connection failed, with
  // another error.
  expect(make({ caFile: join(folder, 'key.pem') })).toThrow(
    /ca_file: expected certificates in PEM, got none in/,
  );
  expect(make({ certFile: join(folder, 'key.pem'), keyFile: join(folder, 'key.pem') })).toThrow(
    /^m: upstream: expected a certificate and its key in PEM/,
  );
});
