/**
 * Request line and headers. Strict: where two readers could understand different things (several lengths, lines that
 * are folded or end otherwise, blanks before a colon), it is refused, for a proxy on the way may be the other one.
 */
import { type IncomingHttpHeaders, METHODS } from 'node:http';
import { quoted } from '@batchwise/runners';
import { RequestError } from '../request-error.js';

export interface RequestHead {
  readonly method: string;
  /** As it came: a path with its query, or a whole URL. */
  readonly target: string;
  readonly isHttp10: boolean;
  readonly headers: IncomingHttpHeaders;
  /** How long the body is said to be; undefined when it comes in chunks. */
  readonly bodyBytes: number | undefined;
  /** The client wants to ask again on the same connection. */
  readonly isKeptAlive: boolean;
  readonly hosts: number;
}

const REQUEST_LINE = /^([A-Z][A-Z-]*) (\/[\x21-\x7e]*|\*|[A-Za-z]+:\/\/[\x21-\x7e]+) HTTP\/1\.([01])$/;
const CONNECT_LINE = /^CONNECT [\x21-\x7e]+ HTTP\/1\.[01]$/;
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);
/**
 * With what follows it up to the next line; the blanks behind a value are cut off later. A value does not begin with a
 * blank: could each blank belong to either side, a refusal would try them all, in time that grows with their square.
 */
const HEADER_LINE =
  /([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[\t ]*((?:[\x21-\x7e\x80-\xff][\t\x20-\x7e\x80-\xff]*)?)(?:\r\n|$)/y;
const BODY_BYTES = /^\d{1,15}$/;
const CHUNKED = /^chunked$/i;
/** Other codings, and chunks around them, as it must be. */
const CODED_CHUNKS = /^(?:(?!chunked[\t ]*,)[!#$%&'*+\-.^_`|~0-9A-Za-z]+[\t ]*,[\t ]*)+chunked$/i;
const CLOSE = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i;
const KEEP_ALIVE = /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/i;

/** Of these the first one counts, as in node:http; of all others several are joined. */
const ONCE = new Set([
  'age',
  'authorization',
  'content-type',
  'etag',
  'expires',
  'from',
  'host',
  'if-modified-since',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'proxy-authorization',
  'referer',
  'retry-after',
  'server',
  'user-agent',
]);

/** `text` is everything before the empty line, without the last line break. Throws what is wrong with it. */
export function parseRequestHead(text: string): RequestHead {
  const lineEnd = text.indexOf('\r\n');
  const line = lineEnd === -1 ? text : text.slice(0, lineEnd);
  const found = REQUEST_LINE.exec(line);
  const [, method, target, minor] = (found ?? []) as string[] as [string, string, string, string];
  if (line.startsWith('CONNECT ') && CONNECT_LINE.test(line)) {
    throw new RequestError('METHOD_NOT_ALLOWED', 'CONNECT is not allowed: this server is not a proxy.');
  }
  if (found === null || !KNOWN_METHODS.has(method)) throw notHttp('the request line');
  const isHttp10 = minor === '0';

  const headers: Record<string, string> = Object.create(null);
  let hosts = 0;
  for (let at = lineEnd === -1 ? text.length : lineEnd + 2; at < text.length; at = HEADER_LINE.lastIndex) {
    HEADER_LINE.lastIndex = at;
    const header = HEADER_LINE.exec(text);
    if (header === null) throw notHttp(`header ${Object.keys(headers).length + 1}`);
    const name = (header[1] as string).toLowerCase();
    const value = withoutEnd(header[2] as string);
    if (name === 'host') hosts += 1;
    else if (name === 'content-length' && header[2]?.includes('\t')) throw notHttp('a tab in content-length');
    const earlier = headers[name];
    if (earlier === undefined) headers[name] = value;
    else if (name === 'content-length') throw notHttp('several content-lengths');
    else if (!ONCE.has(name)) headers[name] = `${earlier}${name === 'cookie' ? '; ' : ', '}${value}`;
  }
  return {
    method,
    target,
    isHttp10,
    headers,
    bodyBytes: bodyBytesOf(headers, isHttp10),
    isKeptAlive: isKeptAlive(headers, isHttp10),
    hosts,
  };
}

/** Whether more bytes could make a request of these; what could is no proof that they will. */
export function mayBecomeHead(text: string): boolean {
  return POSSIBLE_START.test(text) && LINES.test(text);
}

/** Empty lines in front of a request may be passed over. */
const POSSIBLE_START = /^(?:\r\n)*(?:$|\r$|[A-Z])/;
/** No other line breaks, no control characters. */
const LINES = /^(?:[\t\x20-\x7e\x80-\xff]*\r\n)*[\t\x20-\x7e\x80-\xff]*\r?$/;

function bodyBytesOf(headers: Readonly<Record<string, string>>, isHttp10: boolean): number | undefined {
  const { 'transfer-encoding': coding, 'content-length': length } = headers;
  if (coding !== undefined) {
    if (length !== undefined) throw notHttp('both content-length and transfer-encoding');
    if (isHttp10) throw notHttp('transfer-encoding by HTTP/1.0');
    if (CODED_CHUNKS.test(coding)) {
      throw new RequestError(
        'NOT_IMPLEMENTED',
        `expected the transfer-encoding chunked, got ${quoted(coding)}.`,
      );
    }
    if (!CHUNKED.test(coding)) throw notHttp('a transfer-encoding other than chunked');
    return undefined;
  }
  if (length === undefined) return 0;
  if (!BODY_BYTES.test(length)) throw notHttp('a content-length that is not a number of bytes');
  return Number(length);
}

function isKeptAlive({ connection }: Readonly<Record<string, string>>, isHttp10: boolean): boolean {
  if (connection === undefined) return !isHttp10;
  return !CLOSE.test(connection) && (!isHttp10 || KEEP_ALIVE.test(connection));
}

/** No regular expression: one would start again at each blank within the value. */
function withoutEnd(value: string): string {
  let end = value.length;
  while (end > 0 && isBlank(value.charCodeAt(end - 1))) end -= 1;
  return end === value.length ? value : value.slice(0, end);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

export function notHttp(what: string): RequestError {
  return new RequestError('BAD_REQUEST', `expected an HTTP/1.1 request, got an invalid one (${what}).`);
}

const SPACE = 0x20;
const TAB = 0x09;
