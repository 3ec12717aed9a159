import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';

/**
 * What of HTTP/2 headers or trailers is the application's: neither HTTP's nor gRPC's own. Binary entries
 * (`-bin`) stay in their base64, and an entry that came several times stays a list.
 */
export function metadataOf(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const metadata: OutgoingHttpHeaders = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && isMetadata(name)) metadata[name] = value;
  }
  return metadata;
}

/** Whether an entry of this name, in lower case, is the application's. */
export function isMetadata(name: string): boolean {
  return !name.startsWith(':') && !name.startsWith('grpc-') && !RESERVED.has(name);
}

const RESERVED = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
]);
