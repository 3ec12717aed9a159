import { expect, test } from 'vitest';
import { requestFields } from '../../src/http2/header-fields.js';

test('what HTTP/2 itself needs comes first, lists one by one, what is not set not at all', () => {
  const fields = requestFields({
    'x-list': ['a', 'b'],
    ':path': '/a.B/C',
    te: 'trailers',
    'x-number': 5,
    'x-unset': undefined,
    ':method': 'POST',
  });
  expect(fields).toEqual([
    ':method',
    'POST',
    ':path',
    '/a.B/C',
    'x-list',
    'a',
    'x-list',
    'b',
    'te',
    'trailers',
    'x-number',
    '5',
  ]);
});

test.each([
  [{ ':status': 200 }, "':status' is not expected in a request"],
  [{ connection: 'close' }, "invalid HTTP/2 header 'connection'"],
  [{ te: 'gzip' }, "invalid HTTP/2 header 'te'"],
])('%o is no request', (headers, message) => {
  expect(() => requestFields(headers)).toThrow(message);
});
