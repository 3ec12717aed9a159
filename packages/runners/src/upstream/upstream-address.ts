/** Parses the URL of an upstream: its address, its protocol and the model. */
import { basename, extname } from 'node:path';
import { BatchwiseError } from 'batchwise';

export type UpstreamAddress =
  | GrpcModelAddress
  | HttpModelAddress
  | UnixModelAddress
  | PredictAddress
  | StreamAddress;

/** `grpc://host:8001[/model[/version]]`: ModelInfer of the Open Inference Protocol. */
export interface GrpcModelAddress {
  readonly kind: 'grpc-model';
  readonly url: string;
  /** `host:port` */
  readonly target: string;
  readonly isTls: boolean;
  readonly model: string | undefined;
  readonly version: string | undefined;
}

/** `http://host:8000[/v2/models/m[/versions/1]]`: the same protocol over REST. */
export interface HttpModelAddress {
  readonly kind: 'http-model';
  readonly url: string;
  readonly isTls: boolean;
  /** The part of the URL before `/v2`. */
  readonly origin: string;
  readonly model: string | undefined;
  readonly version: string | undefined;
}

/** `unix:///run/model.sock`: a model process that listens on a Unix socket. */
export interface UnixModelAddress {
  readonly kind: 'unix-model';
  readonly url: string;
  readonly isTls: false;
  /** The path of the socket. */
  readonly path: string;
}

/** Any other HTTP path: `{"instances": […]}` in, `{"predictions": […]}` out. */
export interface PredictAddress {
  readonly kind: 'predict';
  readonly url: string;
  readonly isTls: boolean;
}

/** `grpc-stream://host:port/pkg.Service/BatchedCompute`: one stream per batch, one message per item. */
export interface StreamAddress {
  readonly kind: 'grpc-stream';
  readonly url: string;
  readonly target: string;
  readonly isTls: boolean;
  /** `/pkg.Service/BatchedCompute` */
  readonly path: string;
}

export const UPSTREAM_FORMS =
  'a URL such as grpc://host:8001/model, http://host:8000/v2/models/model, ' +
  'http://host:8501/v1/models/model:predict, unix:///run/model.sock or ' +
  'grpc-stream://host:50051/pkg.Service/BatchedCompute';

const SCHEMES: ReadonlySet<string> = new Set([
  'grpc:',
  'grpcs:',
  'http:',
  'https:',
  'unix:',
  'grpc-stream:',
  'grpcs-stream:',
]);

/** Whether a text is a URL and not the path of a file. */
export function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

/** Throws `INVALID_OPTION` with the reason. */
export function parseUpstream(text: string): UpstreamAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !SCHEMES.has(url.protocol))
    throw invalidOption(text, `expected ${UPSTREAM_FORMS}`);
  if (url.protocol === 'unix:') return unixAddress(text, url);
  if (url.hostname === '') throw invalidOption(text, 'expected a host name');
  if (url.username !== '' || url.password !== '')
    throw invalidOption(text, 'expected no user and password in the URL: they are not sent');
  if (url.hash !== '') throw invalidOption(text, 'expected no fragment (#)');
  if (url.protocol === 'http:' || url.protocol === 'https:') return httpAddress(text, url);
  if (url.search !== '') throw invalidOption(text, 'expected no query string (?)');
  if (url.port === '') throw invalidOption(text, 'expected a port: gRPC has no default port');
  const target = url.host;
  const isTls = url.protocol.startsWith('grpcs');
  const parts = partsOf(text, url.pathname);
  if (url.protocol.endsWith('-stream:')) {
    if (parts.length !== 2)
      throw invalidOption(text, 'expected a service and its method: /pkg.Service/BatchedCompute');
    return { kind: 'grpc-stream', url: text, target, isTls, path: `/${parts.join('/')}` };
  }
  if (parts.length > 2) throw invalidOption(text, 'expected a model, or a model and its version: /model/1');
  const [model, version] = parts;
  return { kind: 'grpc-model', url: text, target, isTls, model, version };
}

/** The default name of a runner. */
export function nameOfUpstream(address: UpstreamAddress): string {
  switch (address.kind) {
    case 'grpc-model':
    case 'http-model':
      return address.model ?? new URL(address.url).hostname;
    case 'unix-model':
      return basename(address.path, extname(address.path));
    case 'predict':
      return /([^/:]+)(?::predict)?$/.exec(new URL(address.url).pathname)?.[1] ?? 'predict';
    case 'grpc-stream':
      return address.path.split('/').at(-1) as string;
  }
}

/** The kernel limits the path of a socket to 107 bytes. */
const MAX_SOCKET_PATH_BYTES = 107;

function unixAddress(text: string, url: URL): UnixModelAddress {
  const path = decoded(text, url.pathname) as string;
  if (url.host !== '' || path === '' || path.endsWith('/'))
    throw invalidOption(text, 'expected the absolute path of a socket: unix:///run/model.sock');
  if (url.search !== '') throw invalidOption(text, 'expected no query string (?)');
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES)
    throw invalidOption(text, `expected a path of at most ${MAX_SOCKET_PATH_BYTES} bytes`);
  return { kind: 'unix-model', url: text, isTls: false, path };
}

function httpAddress(text: string, url: URL): HttpModelAddress | PredictAddress {
  const [, before = '', path = ''] = /^(.*?)(\/v2(?:\/.*)?)?\/?$/.exec(url.pathname) ?? [];
  const match = /^\/v2\/models\/([^/]+)(?:\/versions\/([^/]+))?(?:\/infer)?$/.exec(path);
  const isBare = before === '' && (path === '' || path === '/v2');
  const isTls = url.protocol === 'https:';
  if (match === null && !isBare) {
    if (/^\/v2\/models?(?:\/|$)/.test(path))
      throw invalidOption(text, 'expected /v2/models/model, or /v2/models/model/versions/1');
    return { kind: 'predict', url: text, isTls };
  }
  if (url.search !== '') throw invalidOption(text, 'expected no query string (?)');
  const [model, version] = [match?.[1], match?.[2]].map((part) => decoded(text, part));
  return { kind: 'http-model', url: text, isTls, origin: `${url.origin}${before}`, model, version };
}

function partsOf(text: string, path: string): string[] {
  const parts = path.replace(/^\//, '').replace(/\/$/, '').split('/');
  if (parts.length === 1 && parts[0] === '') return [];
  return parts.map((part) => {
    const name = decoded(text, part);
    if (name === undefined || name === '') throw invalidOption(text, 'expected a name between two slashes');
    return name;
  });
}

function decoded(text: string, part: string | undefined): string | undefined {
  if (part === undefined) return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalidOption(text, `expected escapes such as %20 to be complete, got ${JSON.stringify(part)}`);
  }
}

function invalidOption(text: string, what: string): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', `upstream ${JSON.stringify(shownUrl(text))}: ${what}.`);
}

/**
 * A URL as logs and errors may show it: scheme, host and path. User information and query strings are removed because
 * they may contain secrets.
 */
export function shownUrl(text: string): string {
  const [, scheme = '', , rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*@)?([^?#]*)/i.exec(text) ?? [];
  return `${scheme}${rest}`.slice(0, 200);
}
