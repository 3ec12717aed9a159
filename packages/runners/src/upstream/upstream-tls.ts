/** TLS options of an upstream: trusted authorities, and the client's certificate. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { BatchwiseError } from 'batchwise';
import type { UpstreamSettings } from '../runner-settings.js';

/** In PEM. */
export interface UpstreamTls {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly serverName?: string;
}

export type TlsSettings = Pick<UpstreamSettings, 'caFile' | 'certFile' | 'keyFile' | 'serverName'>;

/** Errors name the setting and the runner. */
export function readTls(name: string, { caFile, certFile, keyFile, serverName }: TlsSettings): UpstreamTls {
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const missing = certFile === undefined ? 'cert_file' : 'key_file';
    throw invalidOption(`${name}: upstream: expected both cert_file and key_file, got no ${missing}.`);
  }
  const tls = {
    ...(caFile === undefined ? {} : { ca: authorities(name, caFile) }),
    ...(certFile === undefined ? {} : { cert: contentOf(name, 'cert_file', certFile) }),
    ...(keyFile === undefined ? {} : { key: contentOf(name, 'key_file', keyFile) }),
  };
  try {
    createSecureContext(tls);
  } catch (error) {
    const why = (error as Error).message;
    throw invalidOption(
      `${name}: upstream: expected a certificate and its key in PEM, got files that are not: ${why}.`,
      error,
    );
  }
  return serverName === undefined ? tls : { ...tls, serverName };
}

/** For a file without certificates Node trusts no authority, so this is checked here. */
function authorities(name: string, path: string): Buffer {
  const content = contentOf(name, 'ca_file', path);
  try {
    if (!content.includes('-----BEGIN ')) throw new Error('not in PEM');
    new X509Certificate(content);
  } catch (error) {
    const message = `${name}: upstream.ca_file: expected certificates in PEM, got none in ${path}.`;
    throw invalidOption(message, error);
  }
  return content;
}

function contentOf(name: string, setting: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const why = (error as Error).message;
    throw invalidOption(`${name}: upstream.${setting}: ${path} cannot be read: ${why}.`, error);
  }
}

function invalidOption(message: string, cause?: unknown): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', message, { cause });
}
