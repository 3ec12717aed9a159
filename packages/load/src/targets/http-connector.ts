/** Opens connections to one origin: host name, TLS, and what can be said before the first request when it fails. */
import { readFileSync } from 'node:fs';
import { isIP, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import { LoadError } from '../load-error.js';
import { codeOf, connectionFailure } from './connection-failure.js';
import type { TargetSpec } from './target-spec.js';

export type TlsSpec = NonNullable<TargetSpec['tls']>;

const CONNECT_TIMEOUT_MS = 10_000;

export class HttpConnector {
  readonly #origin: URL;
  readonly #tls: { ca?: string; rejectUnauthorized?: boolean };
  #connect: buildConnector.connector;

  constructor(origin: URL, tls: TlsSpec = {}) {
    this.#origin = origin;
    this.#tls = {
      ...(tls.ca !== undefined && { ca: certificates(tls.ca) }),
      ...(tls.insecure && { rejectUnauthorized: false }),
    };
    this.#connect = buildConnector({ ...this.#tls, timeout: CONNECT_TIMEOUT_MS });
  }

  /** As undici's `Client` wants it; shared by all clients, so that they share TLS sessions. */
  readonly open: buildConnector.connector = (options, callback) => this.#connect(options, callback);

  /**
   * Opens a connection and closes it again. `localhost` often has an IPv6 address that nothing listens at; the family
   * that worked is used from then on, so that not every connection begins with a refused attempt.
   *
   * @throws {LoadError} UNREACHABLE
   */
  async check(): Promise<void> {
    const { hostname, host, protocol, port } = this.#origin;
    const name = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
    const socket = await new Promise<Socket>((resolve, reject) => {
      this.#connect({ hostname: name, host, protocol, port }, (error, opened) => {
        if (error === null) resolve(opened);
        else reject(unreachable(this.#origin, error));
      });
    });
    const family = isIP(socket.remoteAddress ?? '');
    socket.destroy();
    if (family === 0) return;
    this.#connect = buildConnector({
      ...this.#tls,
      family,
      autoSelectFamily: false,
      timeout: CONNECT_TIMEOUT_MS,
    });
  }
}

/** PEM text, or the path of a file with it. */
export function certificates(ca: string): string {
  if (ca.includes('-----BEGIN')) return ca;
  let text: string;
  try {
    text = readFileSync(ca, 'utf8');
  } catch (error) {
    throw new LoadError(
      'INVALID_OPTION',
      `tls.ca: expected PEM text or a file with it, got ${ca}: ${reasonOf(error)}.`,
      {
        cause: error,
      },
    );
  }
  if (!text.includes('-----BEGIN')) {
    throw new LoadError('INVALID_OPTION', `tls.ca: expected certificates in PEM, got none in ${ca}.`);
  }
  return text;
}

function unreachable(origin: URL, error: Error): LoadError {
  return new LoadError('UNREACHABLE', unreachableText(origin.host, origin.hostname, error), { cause: error });
}

/** Also of gRPC and Redis. */
export function unreachableText(host: string, hostname: string, error: Error): string {
  const code = codeOf(error);
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `Unknown host ${hostname} (${code}). Check the URL of the target.`;
    case 'ECONNREFUSED':
      return `${host} refused the connection (ECONNREFUSED). Is the server running, and is this its port?`;
    case 'UND_ERR_CONNECT_TIMEOUT':
      return `${host} did not accept a connection within ${CONNECT_TIMEOUT_MS / 1000} s.`;
  }
  if (code?.includes('CERT') || code?.startsWith('UNABLE_TO_')) {
    return `${host} has an untrusted certificate (${code}). Set tls.ca to its authority, or set tls.insecure.`;
  }
  if (code?.startsWith('ERR_SSL') || code === 'EPROTO') {
    return `${host} does not use TLS (${code}). Should the URL be http:// instead of https://?`;
  }
  return `Cannot connect to ${host}: ${connectionFailure(error)}.`;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
