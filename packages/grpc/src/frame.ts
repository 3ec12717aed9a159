/**
 * A frame is one message as it travels: a flag byte (1: compressed), four bytes of length, the message.
 * Frames are passed on as they came, so a message is never copied to be forwarded.
 */
export const PREFIX_BYTES = 5;

export function frameOf(message: Uint8Array, isCompressed = false): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = isCompressed ? 1 : 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

/** The bytes after the prefix: a view, not a copy. */
export function messageOf(frame: Buffer): Buffer {
  return frame.subarray(PREFIX_BYTES);
}

export function isCompressed(frame: Buffer): boolean {
  return frame[0] === 1;
}
