import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isBase64 } from '../src/binary-metadata.js';
import { checkSendable, metadataOf } from '../src/index.js';

test('what is not HTTP/2’s nor gRPC’s own is the application’s', () => {
  expect(
    metadataOf({
      ':path': '/a.B/C',
      ':method': 'POST',
      'content-type': 'application/grpc',
      'grpc-timeout': '1S',
      'grpc-encoding': 'gzip',
      'grpc-status-details-bin': 'AA==',
      te: 'trailers',
      'user-agent': 'x',
      connection: 'close',
      'transfer-encoding': 'chunked',
      authorization: 'Bearer t',
      'trace-bin': 'AAEC',
      'x-many': ['a', 'b'] as unknown as string,
    }),
  ).toEqual({ authorization: 'Bearer t', 'trace-bin': 'AAEC', 'x-many': ['a', 'b'] });
});

// Node joins what came several times with a comma, which is no base64.
test('binary entries that came several times are a list again, others stay as they are', () => {
  const headers = {
    'a-bin': 'YQ, Yg==,Yw',
    'b-bin': 'YQ',
    'c-bin': '',
    'd-bin': ['YQ', 'Yg,Yw'],
    text: 'a, b',
  };
  expect(metadataOf(headers)).toEqual({
    'a-bin': ['YQ', 'Yg==', 'Yw'],
    'd-bin': ['YQ', 'Yg', 'Yw'],
    'b-bin': 'YQ',
    'c-bin': '',
    text: 'a, b',
  });
});

test('any bytes in base64, with padding or without, are binary metadata', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const text = Buffer.from(bytes).toString('base64');
      expect([isBase64(text), isBase64(text.replaceAll('=', ''))]).toEqual([true, true]);
    }),
  );
});

test('what does not come back from base64 as it was is none', () => {
  const characters = fc.constantFrom(...'AZaz09+/=-_ ,QgwB');
  fc.assert(
    fc.property(fc.array(characters, { maxLength: 6 }), (parts) => {
      const text = parts.join('');
      const again = Buffer.from(text, 'base64').toString('base64');
      expect(isBase64(text)).toBe(again === text || again.replaceAll('=', '') === text);
    }),
    { numRuns: 2000 },
  );
});

test('binary entries that are no base64 are not sent', () => {
  expect(() => checkSendable({ 'a-bin': ['YQ', 'Yg'], 'b-bin': '' })).not.toThrow();
  expect(() => checkSendable({ 'a-bin': 'YQ, Yg' })).toThrow(
    /expected a value of 'a-bin' in base64, got "YQ, Yg"/,
  );
});
