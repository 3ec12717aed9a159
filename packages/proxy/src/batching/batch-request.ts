/** The request of a batch: the call options of the stream, and its messages joined into few writes. */
import type { OutgoingHttpHeaders } from 'node:http2';
import { type CallOptions, metadataOf } from '@batchwise/grpc';
import type { ProxyItem } from './proxy-item.js';

export interface JoinedFrames {
  readonly bytes: Buffer;
  /** The index of the first frame that is not included. */
  readonly next: number;
}

/** Small messages are joined up to this size: a write costs more than copying some kilobytes. */
const JOINED_BYTES = 32 * 1024;

export function callOptionsOf(
  items: readonly ProxyItem[],
  maxMessageBytes: number,
  now: number,
): CallOptions {
  const first = (items[0] as ProxyItem).headers;
  const encoding = first['grpc-encoding'];
  const acceptEncoding = first['grpc-accept-encoding'];
  const contentType = first['content-type'];
  let latestDeadline = 0;
  for (const { deadline } of items) latestDeadline = Math.max(latestDeadline, deadline);
  return {
    metadata: sharedMetadata(items),
    maxMessageBytes,
    // The batcher answers callers with an earlier deadline.
    ...(latestDeadline === Number.POSITIVE_INFINITY ? {} : { timeoutMs: Math.max(1, latestDeadline - now) }),
    ...(encoding === undefined ? {} : { encoding: String(encoding) }),
    ...(acceptEncoding === undefined ? {} : { acceptEncoding: String(acceptEncoding) }),
    ...(contentType === undefined ? {} : { contentType }),
  };
}

/** The metadata entries that are equal for all items. */
export function sharedMetadata(items: readonly Pick<ProxyItem, 'headers'>[]): OutgoingHttpHeaders {
  const first = items[0];
  if (first === undefined) return {};
  const shared = metadataOf(first.headers);
  if (items.length === 1) return shared;
  for (const key of Object.keys(shared)) {
    if (!items.every(({ headers }) => isEqual(headers[key], first.headers[key]))) delete shared[key];
  }
  return shared;
}

/** Node returns a list for some headers that occur several times. */
function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((value, i) => value === b[i]);
}

/** The frames of one write, starting at an index. A large frame is written alone, without a copy. */
export function joinedFrames(items: readonly Pick<ProxyItem, 'frame'>[], from: number): JoinedFrames {
  const first = (items[from] as ProxyItem).frame;
  let next = from + 1;
  let total = first.length;
  for (; next < items.length; next++) {
    const { length } = (items[next] as ProxyItem).frame;
    if (total + length > JOINED_BYTES) break;
    total += length;
  }
  if (next === from + 1) return { bytes: first, next };
  const bytes = Buffer.allocUnsafe(total);
  let offset = 0;
  for (let index = from; index < next; index++) {
    const { frame } = items[index] as ProxyItem;
    bytes.set(frame, offset);
    offset += frame.length;
  }
  return { bytes, next };
}
