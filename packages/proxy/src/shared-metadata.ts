/** The metadata of a batch's stream: what all of its callers sent alike. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { metadataOf } from '@batchwise/grpc';

export interface WithHeaders {
  readonly headers: IncomingHttpHeaders;
}

export function sharedMetadata(items: readonly WithHeaders[]): OutgoingHttpHeaders {
  const first = items[0];
  if (first === undefined) return {};
  const shared = metadataOf(first.headers);
  if (items.length === 1) return shared;
  for (const key of Object.keys(shared)) {
    if (!items.every(({ headers }) => isSame(headers[key], first.headers[key]))) delete shared[key];
  }
  return shared;
}

/** A list where Node keeps several headers of one name apart. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((value, i) => value === b[i]);
}
