import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HeldBytes } from '../../src/http2/held-bytes.js';

test('what is held comes out as it went in, however it was cut, and none of it changes afterwards', () => {
  const step = fc.oneof(fc.uint8Array({ minLength: 1, maxLength: 3000 }), fc.constant('shift' as const));
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const held = new HeldBytes();
      const pushed: Uint8Array[] = [];
      const shifted: Buffer[] = [];
      for (const one of steps) {
        if (one !== 'shift') {
          const bytes = Buffer.from(one);
          held.push(bytes);
          pushed.push(one);
          bytes.fill(0);
        } else {
          const first = held.shift();
          if (first !== undefined) shifted.push(first);
        }
      }
      for (let first = held.shift(); first !== undefined; first = held.shift()) shifted.push(first);
      expect(held.isEmpty).toBe(true);
      expect(shifted.every(({ length }) => length > 0)).toBe(true);
      expect(Buffer.concat(shifted).equals(Buffer.concat(pushed))).toBe(true);
    }),
  );
});

// Each piece was kept by itself: of a stream of tokens a hundred thousand lay in one list, which was moved as a whole to
// take one of them out, and each kept all that had been read with it.
test('small pieces are held together, and take no more memory than they need', () => {
  const held = new HeldBytes();
  const read = Buffer.alloc(64 * 1024);
  for (let i = 0; i < 100_000; i++) held.push(read.subarray(i % 1000, (i % 1000) + 10));
  const blocks: Buffer[] = [];
  for (let block = held.shift(); block !== undefined; block = held.shift()) blocks.push(block);
  expect(blocks.reduce((sum, { length }) => sum + length, 0)).toBe(1_000_000);
  expect(blocks.length).toBeLessThan(80);
  const memory = new Set(blocks.map(({ buffer }) => buffer));
  expect([...memory].reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThan(1_100_000);
});
