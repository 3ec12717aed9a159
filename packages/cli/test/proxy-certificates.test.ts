import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeCertificates } from '../../redis/test/support/certificates.js';
import { optionsOf } from './support/proxy-options.js';

const { ca, server, client } = makeCertificates();
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-proxy-tls-'));
  write('ca.pem', ca);
  write('cert.pem', server.cert);
  write('key.pem', server.key);
  write('other.pem', client.cert);
  write('other.key', client.key);
  write('text.pem', 'not a certificate');
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' },
  });
  write('locked.key', privateKey);
});

afterAll(() => rmSync(folder, { recursive: true }));

const at = (name: string) => join(folder, name);
const write = (name: string, text: string) => writeFileSync(at(name), text);
const flags = (given: Readonly<Record<string, string>>) =>
  Object.entries(given).flatMap(([flag, name]) => [`--${flag}`, at(name)]);

test('reads the files of both sides', () => {
  const options = optionsOf(
    flags({
      'tls-cert': 'cert.pem',
      'tls-key': 'key.pem',
      'tls-client-ca': 'ca.pem',
      'backend-ca': 'ca.pem',
      'backend-cert': 'other.pem',
      'backend-key': 'other.key',
    }),
  );
  expect(options).toMatchObject({
    tls: { cert: Buffer.from(server.cert), key: Buffer.from(server.key), clientCa: Buffer.from(ca) },
    backendTls: { ca: Buffer.from(ca), cert: Buffer.from(client.cert), key: Buffer.from(client.key) },
  });
});

test.each<[Record<string, string>, RegExp]>([
  [{ 'backend-ca': 'gone.pem' }, /^--backend-ca: there is no file .*gone\.pem\.$/],
  [{ 'backend-ca': '.' }, /^--backend-ca: .* is a folder, expected a file\.$/],
  [
    { 'backend-ca': 'text.pem' },
    /^--backend-ca: expected a PEM file with a certificate, .*text\.pem has none\.$/,
  ],
  [
    { 'tls-cert': 'cert.pem', 'tls-key': 'text.pem' },
    /^--tls-key: expected a PEM file with a private key, .*text\.pem has none\.$/,
  ],
  [
    { 'tls-cert': 'cert.pem', 'tls-key': 'locked.key' },
    /^--tls-key: the key in .*locked\.key is encrypted, expected one without a passphrase\.$/,
  ],
  [
    { 'tls-cert': 'cert.pem', 'tls-key': 'other.key' },
    /^--tls-key: .*other\.key is not the key of the certificate in .*cert\.pem\.$/,
  ],
  [
    { 'backend-cert': 'other.pem', 'backend-key': 'key.pem' },
    /^--backend-key: .*key\.pem is not the key of the certificate in .*other\.pem\.$/,
  ],
])('%j is rejected', (given, message) => {
  expect(optionsOf(flags(given))).toEqual([expect.stringMatching(message)]);
});
