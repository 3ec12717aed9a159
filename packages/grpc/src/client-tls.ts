import { isIP } from 'node:net';
import type { ConnectionOptions, SecureContextOptions } from 'node:tls';
import type { ClientTls } from './channel-options.js';
import type { TargetAddress } from './target.js';

/** As the socket of a connection wants it. */
export function tlsOptions(tls: ClientTls, address: TargetAddress): ConnectionOptions {
  const serverName =
    tls.serverName ?? (address.kind === 'tcp' && isIP(address.host) === 0 ? address.host : undefined);
  return {
    ...certificatesOf(tls),
    ...(serverName !== undefined ? { servername: serverName } : {}),
    minVersion: 'TLSv1.2',
  };
}

export function certificatesOf({ ca, cert, key }: ClientTls): SecureContextOptions {
  return {
    ...(ca !== undefined ? { ca } : {}),
    ...(cert !== undefined ? { cert } : {}),
    ...(key !== undefined ? { key } : {}),
  };
}
