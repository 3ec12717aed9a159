/** The message that is echoed: one gRPC frame whose message begins with the number of the request. */
export const COMPUTE = '/bench.Echo/Compute';
export const BATCHED_COMPUTE = '/bench.Echo/BatchedCompute';

export const PREFIX_BYTES = 5;
export const MESSAGE_BYTES = 64;
export const FRAME_BYTES = PREFIX_BYTES + MESSAGE_BYTES;

export function messageFor(number: number): Buffer {
  const message = Buffer.alloc(MESSAGE_BYTES);
  message.writeUInt32LE(number);
  return message;
}

export function frameFor(number: number): Buffer {
  const frame = Buffer.alloc(FRAME_BYTES);
  frame.writeUInt32BE(MESSAGE_BYTES, 1);
  frame.writeUInt32LE(number, PREFIX_BYTES);
  return frame;
}

/** Undefined for any other message. */
export function numberOfMessage(message: Buffer): number | undefined {
  return message.length === MESSAGE_BYTES ? message.readUInt32LE() : undefined;
}
