import { expect, test } from 'vitest';
import { ERROR_CODE } from '../../src/http2/error-code.js';
import { ReceivedResponse } from '../../src/http2/received-response.js';

function receivedOf(...fields: readonly (readonly [name: string, value: string])[]): ReceivedResponse {
  const received = new ReceivedResponse();
  for (const [name, value] of fields) received.add(name, value);
  return received;
}

test('headers are as node:http2 gives them, but for metadata that came several times', () => {
  const { headers, errorCode, status } = receivedOf(
    [':status', '200'],
    ['content-type', 'application/grpc'],
    ['content-type', 'text/html'],
    ['x-twice', 'a'],
    ['x-twice', 'b'],
    ['x-twice', 'c, d'],
    ['age', '1'],
    ['age', '2'],
    ['cookie', 'a=1'],
    ['cookie', 'b=2'],
    ['set-cookie', 'c=3'],
    ['set-cookie', 'd=4'],
    ['__proto__', 'x'],
  );
  expect(errorCode).toBe(ERROR_CODE.NO_ERROR);
  expect(status).toBe(200);
  expect({ ...headers }).toEqual({
    ':status': 200,
    'content-type': 'application/grpc',
    'x-twice': ['a', 'b', 'c, d'],
    age: ['1', '2'],
    cookie: 'a=1; b=2',
    'set-cookie': ['c=3', 'd=4'],
    ['__proto__']: 'x',
  });
});

test('a field that is no HTTP is left out', () => {
  const { headers, errorCode } = receivedOf(
    [':status', '200'],
    ['x a', 'b'],
    ['', 'b'],
    ['x-line', 'a\nb'],
    ['x-nul', 'a\0b'],
    ['x-good', 'ü'],
  );
  expect(errorCode).toBe(ERROR_CODE.NO_ERROR);
  expect({ ...headers }).toEqual({ ':status': 200, 'x-good': 'ü' });
});

test.each([
  ['a header in upper case', [[':status', '200'] as const, ['X-A', 'b'] as const]],
  ['one of HTTP/1’s connections', [['connection', 'close'] as const]],
  ['a status that is no number', [[':status', 'fine'] as const]],
  ['two of them', [[':status', '200'] as const, [':status', '200'] as const]],
  ['one behind other headers', [['x-a', 'b'] as const, [':status', '200'] as const]],
  ['a header of requests', [[':path', '/'] as const]],
])('%s makes a stream invalid', (_name, fields) => {
  expect(receivedOf(...fields).errorCode).toBe(ERROR_CODE.PROTOCOL_ERROR);
});

test('more than 256 fields, or 64 KiB, are too many', () => {
  const many = Array.from({ length: 257 }, (_, place) => [`x-${place}`, ''] as const);
  expect(receivedOf(...many.slice(1)).errorCode).toBe(ERROR_CODE.NO_ERROR);
  expect(receivedOf(...many).errorCode).toBe(ERROR_CODE.ENHANCE_YOUR_CALM);
  const large = 'x'.repeat(16 * 1024);
  expect(receivedOf(['a', large], ['b', large], ['c', large], ['d', large]).errorCode).toBe(
    ERROR_CODE.ENHANCE_YOUR_CALM,
  );
});

// The list was copied for each entry: calls of 460 bytes with one entry 400 times took 250 ms for each 64 KiB.
test('an entry that comes again is appended to its list, which is not copied', () => {
  const received = receivedOf(['x-many', 'a'], ['x-many', 'b'], ['set-cookie', 'c=1']);
  const { 'x-many': many, 'set-cookie': cookies } = received.headers;
  received.add('x-many', 'c');
  received.add('set-cookie', 'd=2');
  expect(received.headers['x-many']).toBe(many);
  expect(received.headers['set-cookie']).toBe(cookies);
  expect([many, cookies]).toEqual([
    ['a', 'b', 'c'],
    ['c=1', 'd=2'],
  ]);
});
