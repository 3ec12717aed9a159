/** How the other side is known, and how this one shows who it is. */
import { readFileSync } from 'node:fs';
import { BatchwiseError } from 'batchwise';
import type { UpstreamSettings } from '../runner-settings.js';

/** In PEM. */
export interface UpstreamTls {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export function readTls({ caFile, certFile, keyFile }: UpstreamSettings): UpstreamTls {
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const missing = certFile === undefined ? 'certFile' : 'keyFile';
    throw new BatchwiseError(
      'INVALID_OPTION',
      `upstream: expected both certFile and keyFile, got no ${missing}.`,
    );
  }
  return {
    ...(caFile === undefined ? {} : { ca: contentOf('caFile', caFile) }),
    ...(certFile === undefined ? {} : { cert: contentOf('certFile', certFile) }),
    ...(keyFile === undefined ? {} : { key: contentOf('keyFile', keyFile) }),
  };
}

function contentOf(setting: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const message = `upstream: ${setting}: ${path} cannot be read: ${(error as Error).message}.`;
    throw new BatchwiseError('INVALID_OPTION', message, { cause: error });
  }
}
