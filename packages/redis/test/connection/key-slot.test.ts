import { expect, test } from 'vitest';
import { keySlot } from '../../src/connection/key-slot.js';

// As CLUSTER KEYSLOT of Redis says.
test.each([
  ['123456789', 12739],
  ['foo', 12182],
  ['{foo}bar', 12182],
  ['bar{foo}baz{zap}', 12182],
  ['foo{}', 5542],
  ['{', 4092],
  ['batchwise:{digits}:dead', 12149],
  ['größe', 9425],
])('%s is in slot %d', (key, slot) => {
  expect(keySlot(key)).toBe(slot);
});
