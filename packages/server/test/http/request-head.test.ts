import { describe, expect, test } from 'vitest';
import { mayBecomeHead, parseRequestHead } from '../../src/http/request-head.js';

function headOf(...lines: string[]): string {
  return lines.join('\r\n');
}

describe('a head', () => {
  test('is its request line and its headers', () => {
    const head = parseRequestHead(headOf('POST /a?b HTTP/1.1', 'Host: x', 'Content-Length:  3 ', 'empty:'));
    expect(head).toMatchObject({
      method: 'POST',
      target: '/a?b',
      isHttp10: false,
      bodyBytes: 3,
      isKeptAlive: true,
      hosts: 1,
    });
    expect({ ...head.headers }).toEqual({ host: 'x', 'content-length': '3', empty: '' });
  });

  test('joins what comes several times, but not what can only be one thing', () => {
    const { headers } = parseRequestHead(
      headOf(
        'GET / HTTP/1.1',
        'accept: a',
        'Accept: b',
        'cookie: a=1',
        'cookie: b=2',
        'content-type: text/plain',
        'content-type: text/html',
      ),
    );
    expect({ ...headers }).toEqual({ accept: 'a, b', cookie: 'a=1; b=2', 'content-type': 'text/plain' });
  });

  test('may have headers called like what objects inherit', () => {
    const { headers } = parseRequestHead(
      headOf('GET / HTTP/1.1', '__proto__: a', 'constructor: b', '__proto__: c'),
    );
    expect(Object.entries(headers)).toEqual([
      ['__proto__', 'a, c'],
      ['constructor', 'b'],
    ]);
  });

  test.each([
    ['GET / HTTP/1.1', true],
    ['GET / HTTP/1.1|connection: close', false],
    ['GET / HTTP/1.1|connection: TE , Close', false],
    ['GET / HTTP/1.1|connection: closed', true],
    ['GET / HTTP/1.0', false],
    ['GET / HTTP/1.0|connection: Keep-Alive', true],
    ['GET / HTTP/1.0|connection: keep-alive, close', false],
  ])('%s: its connection is kept is %s', (text, isKeptAlive) => {
    expect(parseRequestHead(text.replaceAll('|', '\r\n')).isKeptAlive).toBe(isKeptAlive);
  });

  test.each([
    ['no method', ' / HTTP/1.1'],
    ['a method in small letters', 'get / HTTP/1.1'],
    ['no target', 'GET HTTP/1.1'],
    ['a target with a blank', 'GET /a b HTTP/1.1'],
    ['a target with other than ASCII', 'GET /\xe4 HTTP/1.1'],
    ['two blanks', 'GET  / HTTP/1.1'],
    ['no version', 'GET /'],
    ['another version', 'GET / HTTP/2.0'],
    ['a version of one digit more', 'GET / HTTP/1.10'],
    ['a blank behind the version', 'GET / HTTP/1.1 '],
    ['a header without a name', 'GET / HTTP/1.1|: a'],
    ['a blank before the colon', 'GET / HTTP/1.1|a : b'],
    ['a header that is folded', 'GET / HTTP/1.1|a: b| c'],
    ['a blank before the first header', 'GET / HTTP/1.1| a: b'],
    ['a line feed alone', 'GET / HTTP/1.1|a: b\nc: d'],
    ['a carriage return alone', 'GET / HTTP/1.1|a: b\rc: d'],
    ['a zero byte', 'GET / HTTP/1.1|a: b\0'],
    ['two lengths that are one', 'GET / HTTP/1.1|content-length: 1|content-length: 1'],
    ['two lengths in one', 'GET / HTTP/1.1|content-length: 1, 1'],
    ['a length with a sign', 'GET / HTTP/1.1|content-length: +1'],
    ['a length in other digits', 'GET / HTTP/1.1|content-length: 0x1'],
    ['a length of nothing', 'GET / HTTP/1.1|content-length:'],
    ['length and coding', 'GET / HTTP/1.1|content-length: 1|transfer-encoding: chunked'],
    ['a coding of HTTP/1.0', 'GET / HTTP/1.0|transfer-encoding: chunked'],
    ['another coding', 'GET / HTTP/1.1|transfer-encoding: gzip'],
    ['another coding around the chunks', 'GET / HTTP/1.1|transfer-encoding: chunked, gzip'],
    ['a coding twice', 'GET / HTTP/1.1|transfer-encoding: chunked|transfer-encoding: chunked'],
    ['a coding twice beside another', 'GET / HTTP/1.1|transfer-encoding: gzip, Chunked , chunked'],
    ['a coding of HTTP/1.0 beside another', 'GET / HTTP/1.0|transfer-encoding: gzip, chunked'],
    ['a coding that has no name', 'GET / HTTP/1.1|transfer-encoding: , chunked'],
    ['a coding that only looks like it', 'GET / HTTP/1.1|transfer-encoding: \x0bchunked'],
    ['no coding at all', 'GET / HTTP/1.1|transfer-encoding:'],
  ])('with %s is refused', (_what, text) => {
    expect(() => parseRequestHead(text.replaceAll('|', '\r\n'))).toThrow(
      /expected an HTTP\/1\.1 request, got an invalid one/,
    );
  });

  // It was refused as no HTTP, which it is: the server does not know the coding, but where the body ends.
  test.each([
    ['gzip, chunked', 'GET / HTTP/1.1|transfer-encoding: gzip, chunked'],
    ['gzip, deflate ,CHUNKED', 'GET / HTTP/1.1|transfer-encoding: gzip, deflate ,CHUNKED'],
    ['gzip, chunked', 'GET / HTTP/1.1|transfer-encoding: gzip|transfer-encoding: chunked'],
  ])('with the codings %s is refused as not implemented', (codings, text) => {
    expect(() => parseRequestHead(text.replaceAll('|', '\r\n'))).toThrow(
      expect.objectContaining({
        code: 'NOT_IMPLEMENTED',
        message: `expected the transfer-encoding chunked, got ${JSON.stringify(codings)}.`,
      }),
    );
  });

  // Regular expressions tried each blank as the end of what came before it: 16 KB took a quarter of a second.
  test('blanks take no longer than other bytes', () => {
    const blanks = ' '.repeat(300_000);
    expect(() => parseRequestHead(`GET / HTTP/1.1\r\na:${blanks}\0`)).toThrow(/got an invalid one/);
    expect(parseRequestHead(`GET / HTTP/1.1\r\na: b${blanks}c${blanks}`).headers.a).toBe(`b${blanks}c`);
  });

  test('CONNECT is refused by name', () => {
    expect(() => parseRequestHead('CONNECT a:1 HTTP/1.1')).toThrow('CONNECT is not allowed');
  });
});

test.each([
  ['', true],
  ['\r', true],
  ['\r\n', true],
  ['\r\nG', true],
  ['GET / HTTP/1.1\r', true],
  ['GET / HTTP/1.1\r\na: b\r\n', true],
  ['GET / HTTP/1.1\n', false],
  ['GET / HTTP/1.1\rx', false],
  ['\x16\x03\x01', false],
  ['GET /\0', false],
  ['\n', false],
  ['{', false],
])('%j may become a head: %s', (text, isPossible) => {
  expect(mayBecomeHead(text)).toBe(isPossible);
});
