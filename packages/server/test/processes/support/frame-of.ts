/** What a peer would write. */
import { serialize } from 'node:v8';

export function frameOf(payload: Buffer): Buffer {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32LE(payload.length);
  return Buffer.concat([prefix, payload]);
}

export function frameOfMessages(...messages: readonly unknown[]): Buffer {
  return frameOf(serialize(messages));
}
