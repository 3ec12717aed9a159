/**
 * The group key of a call: only calls with equal keys share a batch. It contains the encoding and the accepted encodings,
 * which a stream declares once for all messages, the configured metadata, and the length bucket.
 */
import type { IncomingHttpHeaders } from 'node:http2';
import type { MethodSettings } from '../options/method-options.js';

/** Separators that no header value contains. */
const BETWEEN = '\n';
const WITHIN = '\0';

export function groupKeyOf(
  headers: IncomingHttpHeaders,
  messageBytes: number,
  { groupByMetadata, groupByBytes }: MethodSettings,
): string {
  let key =
    encodingOf(headers) + BETWEEN + acceptedEncodings(headers) + BETWEEN + (headers['content-type'] ?? '');
  for (const name of groupByMetadata) {
    const value = headers[name];
    // A missing entry differs from an empty one.
    key += value === undefined ? BETWEEN : `${BETWEEN}=${Array.isArray(value) ? value.join(WITHIN) : value}`;
  }
  return groupByBytes.length === 0 ? key : key + BETWEEN + bucketOf(messageBytes, groupByBytes);
}

export function encodingOf(headers: IncomingHttpHeaders): string {
  const encoding = headers['grpc-encoding'];
  return encoding === undefined ? 'identity' : String(encoding);
}

/** Normalized: clients list the same encodings in different order and spacing. */
export function acceptedEncodings(headers: IncomingHttpHeaders): string {
  const text = headers['grpc-accept-encoding'];
  if (text === undefined) return '';
  const given = String(text);
  let sorted = sortedLists.get(given);
  if (sorted === undefined) {
    const names = given.split(',').map((name) => name.trim());
    sorted = [...new Set(names.filter((name) => name !== ''))].sort().join(',');
    if (sortedLists.size < MAX_CACHED_LISTS) sortedLists.set(given, sorted);
  }
  return sorted;
}

/** Cache of normalized lists, bounded because callers can send any list. */
const sortedLists = new Map<string, string>();
const MAX_CACHED_LISTS = 64;

/** The index of the length bucket: the number of bounds below the length. */
export function bucketOf(messageBytes: number, bounds: readonly number[]): number {
  let bucket = 0;
  while (bucket < bounds.length && messageBytes > (bounds[bucket] as number)) bucket++;
  return bucket;
}
