import { ERROR_CODE } from './error-code.js';
import { FLAG } from './frame-type.js';
import { Http2Fault } from './http2-fault.js';

const PRIORITY_BYTES = 5;

/** What a payload is for, without its padding and without a priority. */
export function withoutPadding(flags: number, payload: Buffer, mayHavePriority: boolean): Buffer {
  const isPadded = (flags & FLAG.PADDED) !== 0;
  const hasPriority = mayHavePriority && (flags & FLAG.PRIORITY) !== 0;
  if (!isPadded && !hasPriority) return payload;
  const start = (isPadded ? 1 : 0) + (hasPriority ? PRIORITY_BYTES : 0);
  const end = payload.length - (isPadded ? (payload[0] ?? 0) : 0);
  if (start > payload.length || end < start) {
    throw new Http2Fault(ERROR_CODE.PROTOCOL_ERROR, 'the padding of a frame is longer than the frame');
  }
  return payload.subarray(start, end);
}
