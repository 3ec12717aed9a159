/** Reads the PEM files of the settings and checks their content. */
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ConfigError, type ConfigProblem } from '@batchwise/server';
import type { LoadedProxy } from './proxy-load.js';

type PemField = 'tlsCert' | 'tlsKey' | 'tlsClientCa' | 'backendCa' | 'backendCert' | 'backendKey';

const IS_KEY: Readonly<Record<PemField, boolean>> = {
  tlsCert: false,
  tlsKey: true,
  tlsClientCa: false,
  backendCa: false,
  backendCert: false,
  backendKey: true,
};
const PAIRS = [
  ['tlsCert', 'tlsKey'],
  ['backendCert', 'backendKey'],
] as const;

/** TLS itself would report some of the problems only at the first connection. */
export function readCertificates({ settings, origins }: LoadedProxy): Partial<Record<PemField, Buffer>> {
  const found: Partial<Record<PemField, Buffer>> = {};
  const problems: ConfigProblem[] = [];
  const report = (field: PemField, message: string) =>
    problems.push({ origin: origins.get(field), path: '', message });
  for (const field of Object.keys(IS_KEY) as PemField[]) {
    const path = settings[field];
    if (path === undefined) continue;
    try {
      const pem = readFileSync(path);
      // OpenSSL would prompt for the passphrase.
      if (IS_KEY[field] && pem.includes('ENCRYPTED')) {
        report(field, `the key in ${path} is encrypted, expected one without a passphrase.`);
        continue;
      }
      if (IS_KEY[field]) createPrivateKey(pem);
      else new X509Certificate(pem);
      found[field] = pem;
    } catch (error) {
      report(field, reasonOf(error as NodeJS.ErrnoException, path, IS_KEY[field]));
    }
  }
  for (const [cert, key] of PAIRS)
    if (found[cert] !== undefined && found[key] !== undefined && !isPair(found[cert], found[key]))
      report(key, `${settings[key]} is not the key of the certificate in ${settings[cert]}.`);
  if (problems.length > 0) throw new ConfigError(problems);
  return found;
}

function isPair(cert: Buffer, key: Buffer): boolean {
  const { publicKey } = new X509Certificate(cert);
  return publicKey.equals(createPublicKey(createPrivateKey(key)));
}

function reasonOf({ code }: NodeJS.ErrnoException, path: string, isKey: boolean): string {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return `there is no file ${path}.`;
    case 'EISDIR':
      return `${path} is a folder, expected a file.`;
    case 'EACCES':
    case 'EPERM':
      return `${path} is not readable by this user.`;
    default:
      return `expected a PEM file with ${isKey ? 'a private key' : 'a certificate'}, ${path} has none.`;
  }
}
