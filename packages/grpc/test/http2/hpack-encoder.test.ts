import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HpackDecoder } from '../../src/http2/hpack-decoder.js';
import { HpackEncoder } from '../../src/http2/hpack-encoder.js';

function decoded(decoder: HpackDecoder, block: Buffer): string[] {
  const fields: string[] = [];
  decoder.decode(block, (name, value) => fields.push(name, value));
  return fields;
}

const CALL = [
  ':method',
  'POST',
  ':scheme',
  'http',
  ':authority',
  'localhost:50051',
  ':path',
  '/pkg.Service/BatchedCompute',
  'te',
  'trailers',
  'content-type',
  'application/grpc',
];

test('what is the same from call to call takes a byte each', () => {
  const encoder = new HpackEncoder();
  const decoder = new HpackDecoder();
  expect(decoded(decoder, encoder.encode(CALL))).toEqual(CALL);
  const again = encoder.encode(CALL);
  expect(again).toHaveLength(CALL.length / 2);
  expect(decoded(decoder, again)).toEqual(CALL);
});

test('what is the caller’s own is not put into the peer’s table, and secrets into nobody’s', () => {
  const encoder = new HpackEncoder();
  const fields = ['x-user', 'somebody', 'authorization', 'Bearer secret'];
  const first = Buffer.from(encoder.encode(fields));
  expect(encoder.encode(fields).equals(first)).toBe(true);
  expect(first[0]).toBe(0x00);
  // 'authorization' is the 23rd of the static table: 15, and 8 more.
  expect(first.includes(Buffer.from([0x1f, 0x08]))).toBe(true);
});

const name = fc.constantFrom(':path', ':authority', 'content-type', 'te', 'x-a', 'authorization', 'x-bin');
const value = fc.oneof(
  fc.constantFrom('a', 'b', '/', 'trailers', ''),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.array(fc.tuple(name, value), { maxLength: 12 }).map((pairs) => pairs.flat()) },
  { weight: 1, arbitrary: fc.constantFrom(0, 40, 100, 4096, 65_536) },
);

test('any calls come out as they went in, however large a table the peer allows, and when', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const encoder = new HpackEncoder();
      const decoder = new HpackDecoder();
      for (const one of steps) {
        if (typeof one === 'number') encoder.setMaxTableBytes(one);
        else expect(decoded(decoder, encoder.encode(one))).toEqual(one);
      }
    }),
  );
});

test('a peer without a table gets none', () => {
  const encoder = new HpackEncoder();
  encoder.encode(CALL);
  encoder.setMaxTableBytes(0);
  const emptied = encoder.encode(CALL);
  expect(emptied[0]).toBe(0x20);
  // A decoder that has never seen the calls before understands it: nothing refers to them.
  expect(decoded(new HpackDecoder(), emptied)).toEqual(CALL);
  expect(decoded(new HpackDecoder(), encoder.encode(CALL))).toEqual(CALL);
});
