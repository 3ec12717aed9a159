import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { valuesOf } from './binary-metadata.js';

/**
 * What of HTTP/2 headers or trailers is the application's: neither HTTP's nor gRPC's own. Binary entries
 * (`-bin`) stay in their base64, and an entry that came several times stays a list.
 */
export function metadataOf(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const metadata: OutgoingHttpHeaders = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && isMetadata(name)) metadata[name] = sentAs(name, value);
  }
  return metadata;
}

/** A value as it is to be sent on: binary ones that came joined are a list again. */
export function sentAs(name: string, value: string | string[]): string | string[] {
  const isList = typeof value !== 'string' || value.includes(',');
  return isList && name.endsWith('-bin') ? [...valuesOf(name, value)] : value;
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
