/** What the options ask for, read and checked. Error messages never show a password, not even a piece of a broken URL. */
import { BatchwiseError, didYouMean } from 'batchwise';
import { validSpanMs } from '../valid-option.js';
import type { ConnectionOptions } from './connection-options.js';
import { type Address, addressText, DEFAULT_REPLY_TIMEOUT_MS } from './node-connection.js';
import type { TlsOptions } from './tls-options.js';

export interface Login {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

interface Common {
  readonly login: Login;
  readonly database: number;
  readonly tls: TlsOptions | undefined;
  readonly replyTimeoutMs: number;
}

export type Target = Common &
  (
    | { readonly kind: 'single'; readonly address: Address }
    | { readonly kind: 'cluster'; readonly seeds: readonly Address[] }
    | {
        readonly kind: 'sentinel';
        readonly sentinels: readonly Address[];
        readonly master: string;
        readonly sentinelLogin: Login;
      }
  );

export const DEFAULT_URL = 'redis://localhost:6379';

const FORMS =
  'redis://[user[:password]@]host[:port][/database], redis+cluster://host:port,host:port or ' +
  'redis+sentinel://host:port,host:port/master[/database], with rediss in place of redis for TLS';
const TLS_OPTIONS: readonly string[] = ['ca', 'cert', 'key', 'rejectUnauthorized', 'servername'];

export function targetOf(options: ConnectionOptions): Target {
  const url = partsOf(validText('url', options.url) ?? DEFAULT_URL);
  const common = {
    login: {
      username: validText('username', options.username) ?? url.username,
      password: validText('password', options.password) ?? url.password,
    },
    tls: tlsOf(url, options.tls),
    replyTimeoutMs: validSpanMs('replyTimeoutMs', options.replyTimeoutMs ?? DEFAULT_REPLY_TIMEOUT_MS, 100),
  };
  const path = url.path.split('/').filter((step) => step !== '');

  switch (url.kind) {
    case 'single': {
      noQuery(url);
      const [address, second] = addresses(url.hosts, 6379);
      if (address === undefined || second !== undefined)
        throw invalid(`url: expected one host in a ${url.scheme} URL`);
      return { ...common, kind: 'single', address, database: databaseOf(options, url, path) };
    }
    case 'cluster': {
      noQuery(url);
      const database = databaseOf(options, url, path);
      if (database !== 0)
        throw invalid(`database: expected 0, the only one a Redis Cluster has, got ${database}`);
      return { ...common, kind: 'cluster', seeds: addresses(url.hosts, 6379), database };
    }
    case 'sentinel': {
      const [master, ...rest] = path;
      if (master === undefined) {
        throw invalid(
          `url: expected the name of the master after the sentinels, ${url.scheme}://host:port/master`,
        );
      }
      return {
        ...common,
        kind: 'sentinel',
        sentinels: addresses(url.hosts, 26379),
        master: decoded('the name of the master', master),
        database: databaseOf(options, url, rest),
        sentinelLogin: sentinelLogin(url),
      };
    }
  }
}

/** Where it is, for messages. */
export function placeOf(target: Target): string {
  switch (target.kind) {
    case 'single':
      return addressText(target.address);
    case 'cluster':
      return target.seeds.map(addressText).join(',');
    case 'sentinel':
      return `${target.sentinels.map(addressText).join(',')}/${target.master}`;
  }
}

interface Parts {
  readonly scheme: string;
  readonly kind: Target['kind'];
  readonly isEncrypted: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly hosts: string;
  readonly path: string;
  readonly query: string;
}

/** By hand, because several hosts are more than the URL standard allows for. */
function partsOf(url: string): Parts {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  const kinds = /^(rediss?)(?:\+(cluster|sentinel))?$/.exec(scheme ?? '');
  if (scheme === undefined || kinds === null) {
    const came = scheme === undefined ? 'a URL without a scheme' : `the scheme ${JSON.stringify(scheme)}`;
    throw invalid(`url: expected ${FORMS}, got ${came}`);
  }
  const rest = url.slice(scheme.length + 3);
  const [, authority = '', path = '', query = ''] = /^([^/?#]*)([^?#]*)(?:\?([^#]*))?/.exec(rest) ?? [];
  if (rest.slice(authority.length).includes('@')) {
    const how = '@ / ? # as %40 %2F %3F %23';
    throw invalid(`url: expected user and password percent-encoded (${how}), got an @ after a / ? or #`);
  }
  const at = authority.lastIndexOf('@');
  const [, username = '', password = ''] = /^([^:]*):?(.*)$/s.exec(authority.slice(0, Math.max(at, 0))) ?? [];
  return {
    scheme,
    kind: (kinds[2] as 'cluster' | 'sentinel' | undefined) ?? 'single',
    isEncrypted: kinds[1] === 'rediss',
    username: username === '' ? undefined : decoded('the user', username),
    password: password === '' ? undefined : decoded('the password', password),
    hosts: authority.slice(at + 1),
    path,
    query,
  };
}

function addresses(hosts: string, defaultPort: number): Address[] {
  return hosts.split(',').map((text) => {
    const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::(\d+))?$/i.exec(text.trim());
    const port = Number(match?.[3] ?? defaultPort);
    const host = match?.[1] ?? match?.[2];
    if (host === undefined || port < 1 || port > 65535) {
      throw invalid(`url: expected host[:port], with a port from 1 to 65535, got ${JSON.stringify(text)}`);
    }
    return { host, port };
  });
}

function databaseOf(options: ConnectionOptions, url: Parts, path: readonly string[]): number {
  const { database } = options;
  if (database !== undefined) {
    if (Number.isSafeInteger(database) && database >= 0) return database;
    throw invalid(`database: expected a whole number from 0 up, got ${JSON.stringify(database)}`);
  }
  const [text = '0', second] = path;
  if (second === undefined && /^\d{1,9}$/.test(text)) return Number(text);
  throw invalid(
    `url: expected a database number at the end of the ${url.scheme} URL, got ${JSON.stringify(path.join('/'))}`,
  );
}

function sentinelLogin({ query }: Parts): Login {
  const settings = new URLSearchParams(query);
  for (const name of settings.keys()) {
    if (name !== 'sentinelUsername' && name !== 'sentinelPassword') {
      throw invalid(
        `url: expected sentinelUsername or sentinelPassword in the query, got ${JSON.stringify(name)}`,
      );
    }
  }
  return {
    username: settings.get('sentinelUsername') ?? undefined,
    password: settings.get('sentinelPassword') ?? undefined,
  };
}

function noQuery({ query, scheme }: Parts): void {
  if (query !== '') throw invalid(`url: expected no query in a ${scheme} URL`);
}

function tlsOf({ isEncrypted, scheme }: Parts, tls: unknown): TlsOptions | undefined {
  if (tls === undefined) return isEncrypted ? {} : undefined;
  if (typeof tls !== 'object' || tls === null) throw invalid(`tls: expected an object, got ${typeof tls}`);
  for (const name of Object.keys(tls)) {
    if (TLS_OPTIONS.includes(name)) continue;
    throw invalid(
      `tls: unknown option ${JSON.stringify(name)}.${didYouMean(name, TLS_OPTIONS)} Known are ${TLS_OPTIONS.join(', ')}`,
    );
  }
  if (!isEncrypted) {
    throw invalid(
      `tls: expected a url that begins with ${scheme.replace('redis', 'rediss')}://, got ${scheme}://`,
    );
  }
  return tls;
}

function validText(name: string, value: unknown): string | undefined {
  if (value === undefined || (typeof value === 'string' && value !== '')) return value;
  throw invalid(
    `${name}: expected a string that is not empty, got ${value === '' ? 'an empty one' : typeof value}`,
  );
}

function decoded(what: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid(`url: expected ${what} percent-encoded (% itself is %25)`);
  }
}

function invalid(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', `${message}.`);
}
