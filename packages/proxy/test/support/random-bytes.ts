/** Deterministic bytes: equal seeds return equal bytes. */
import { createCipheriv, createHash } from 'node:crypto';

export function randomBytesOf(seed: number, length: number): Buffer {
  const key = createHash('sha256').update(String(seed)).digest();
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length));
}
