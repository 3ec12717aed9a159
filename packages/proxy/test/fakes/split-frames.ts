import { PREFIX_BYTES } from '@batchwise/grpc';

/** Splits bytes into frames. */
export function splitFrames(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + PREFIX_BYTES + bytes.readUInt32BE(at + 1);
    frames.push(bytes.subarray(at, end));
    at = end;
  }
  return frames;
}
