import type { OutgoingHttpHeaders } from 'node:http2';
import type { CallOptions } from './outgoing-call.js';
import { formatTimeout } from './timeout.js';

const USER_AGENT = 'batchwise-grpc/0.1';

/** What every request of a channel begins with. */
export function streamHeaders(scheme: string, authority: string): OutgoingHttpHeaders {
  return { ':method': 'POST', ':scheme': scheme, ':authority': authority, te: 'trailers' };
}

/** Of a call. What is gRPC's own comes first, as gRPC wants it, and metadata cannot take its place. */
export function callHeaders(
  scheme: string,
  authority: string,
  path: string,
  options: CallOptions,
): OutgoingHttpHeaders {
  const headers = streamHeaders(scheme, authority);
  headers[':path'] = path;
  if (options.timeoutMs !== undefined) headers['grpc-timeout'] = formatTimeout(options.timeoutMs);
  headers['content-type'] = options.contentType ?? 'application/grpc';
  headers['user-agent'] = USER_AGENT;
  if (options.encoding !== undefined) headers['grpc-encoding'] = options.encoding;
  if (options.acceptEncoding !== undefined) headers['grpc-accept-encoding'] = options.acceptEncoding;
  return options.metadata === undefined ? headers : { ...headers, ...options.metadata, ...headers };
}
