/** Commands, as they go over the wire. */
import { expect, test } from 'vitest';
import { encodedCommand } from '../../src/connection/encoded-command.js';

test('lengths are those of the bytes, and text goes out in one piece', () => {
  expect(encodedCommand(['SET', 'grün', ''])).toEqual(['*3\r\n$3\r\nSET\r\n$5\r\ngrün\r\n$0\r\n\r\n']);
});

test('bytes go out as they are', () => {
  const bytes = Buffer.from([0xff, 0, 13, 10]);
  const pieces = encodedCommand(['SET', bytes, 'k', bytes]);
  const expected = [
    Buffer.from('*4\r\n$3\r\nSET\r\n$4\r\n'),
    bytes,
    Buffer.from('\r\n$1\r\nk\r\n$4\r\n'),
    bytes,
  ];
  expect(Buffer.concat(pieces.map((piece) => Buffer.from(piece as string)))).toEqual(
    Buffer.concat([...expected, Buffer.from('\r\n')]),
  );
});

test('what is neither text nor bytes is refused', () => {
  expect(() => encodedCommand(['SET', 1 as never])).toThrow(TypeError);
});
