import { expect, test } from 'vitest';
import { oneLine } from '../src/one-line.js';

// OpenSSL ends its texts with a line break, and tells where in its sources it failed.
test('an error is one line, and the reason of TLS without the place', () => {
  const raw = 'C0:error:0A000412:SSL routines:ssl3_read_bytes:alert bad certificate:../deps/rec.c:1590:\n';
  expect(oneLine(Object.assign(new Error(raw), { reason: 'alert bad certificate' }))).toBe(
    'TLS: alert bad certificate',
  );
  expect(oneLine(new Error('one\n two\r\n'))).toBe('one two');
});
