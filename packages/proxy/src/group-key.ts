/**
 * What calls must have in common to share a batch, as one string: how their messages are encoded and what
 * answers they accept, because a stream says that once for all of its messages; the metadata that was chosen,
 * because the stream carries it for all; and the bucket of their length.
 */
import type { IncomingHttpHeaders } from 'node:http2';
import type { MethodSettings } from './method-options.js';

/** No header contains them. */
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
    // Not there and empty are different things.
    key += value === undefined ? BETWEEN : `${BETWEEN}=${Array.isArray(value) ? value.join(WITHIN) : value}`;
  }
  return groupByBytes.length === 0 ? key : key + BETWEEN + bucketOf(messageBytes, groupByBytes);
}

export function encodingOf(headers: IncomingHttpHeaders): string {
  const encoding = headers['grpc-encoding'];
  return encoding === undefined ? 'identity' : String(encoding);
}

/** Clients of different languages list the same encodings in different order and spacing. */
export function acceptedEncodings(headers: IncomingHttpHeaders): string {
  const text = headers['grpc-accept-encoding'];
  if (text === undefined) return '';
  const given = String(text);
  let sorted = sortedLists.get(given);
  if (sorted === undefined) {
    const names = given.split(',').map((name) => name.trim());
    sorted = [...new Set(names.filter((name) => name !== ''))].sort().join(',');
    if (sortedLists.size < MOST_LISTS) sortedLists.set(given, sorted);
  }
  return sorted;
}

/** There are few ways to write them; a caller who makes some up shall fill no memory. */
const sortedLists = new Map<string, string>();
const MOST_LISTS = 64;

/** How many bounds the length is above. */
export function bucketOf(messageBytes: number, bounds: readonly number[]): number {
  let bucket = 0;
  while (bucket < bounds.length && messageBytes > (bounds[bucket] as number)) bucket++;
  return bucket;
}
