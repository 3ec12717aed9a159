import { expect, test } from 'vitest';
import { ReceiveWindow } from '../../src/http2/receive-window.js';

test('new room is told in halves', () => {
  const window = new ReceiveWindow(5, 100);
  expect(window.take(100)).toBe(true);
  expect(window.free(49)).toBeUndefined();
  const update = window.free(11);
  expect(update?.toString('hex')).toBe('00000408000000000500' + '00003c');
  expect(window.take(60)).toBe(true);
  expect(window.take(1)).toBe(false);
});
