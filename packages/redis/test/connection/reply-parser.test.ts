/** Replies, from whatever pieces they come in. */
import * as fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ReplyError } from '../../src/connection/link-errors.js';
import { type ParsedReply, ReplyParser } from '../../src/connection/reply-parser.js';

const word = fc.stringMatching(/^[A-Za-z0-9 :-]{1,20}$/);
const { value } = fc.letrec<{ value: ParsedReply }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.integer(),
    fc.constant(null),
    fc.string({ unit: 'binary', maxLength: 40 }),
    word.map((message) => new ReplyError(message)),
    fc.array(tie('value'), { maxLength: 5 }),
  ),
}));

test('replies are what was sent, wherever they are cut, as text and as bytes', () => {
  fc.assert(
    fc.property(
      fc.array(value, { maxLength: 6 }),
      fc.array(fc.nat({ max: 30 }), { minLength: 1 }),
      fc.boolean(),
      (replies, cuts, isText) => {
        const parsed: ParsedReply[] = [];
        const parser = new ReplyParser((reply) => parsed.push(reply));
        parser.isText = isText;
        const wire = Buffer.concat(replies.map(wireOf));
        for (let at = 0, cut = 0; at < wire.length; cut += 1) {
          const to = at + 1 + (cuts[cut % cuts.length] as number);
          const chunk = Buffer.from(wire.subarray(at, to));
          parser.push(chunk);
          chunk.fill(0); // as a buffer that is read into again
          at = to;
        }
        expect(parsed).toEqual(isText ? replies : replies.map(asBytes));
      },
    ),
  );
});

test('a simple string is text, and a large value comes in many pieces', () => {
  const parsed: ParsedReply[] = [];
  const parser = new ReplyParser((reply) => parsed.push(reply));
  const large = 'ä'.repeat(100_000);
  const wire = Buffer.concat([Buffer.from('+OK\r\n'), wireOf([large, 'end'])]);
  for (let at = 0; at < wire.length; at += 1000) parser.push(wire.subarray(at, at + 1000));
  expect(parsed).toEqual(['OK', [large, 'end']]);
});

test('what is not a reply of Redis is said so', () => {
  const parser = new ReplyParser(() => {});
  expect(() => parser.push(Buffer.from('HTTP/1.1 400 Bad Request\r\n'))).toThrow('expected a reply of Redis');
});

// Each byte of a length or number was taken for a digit, and the end of a line or value for what it should be: what came
// then was another number, a value cut elsewhere, or replies in the wrong place.
test.each([
  ['a length that is no number', '$1x\r\nab\r\n'],
  ['a length that is missing', '$\r\n\r\n'],
  ['a length below none', '$-2\r\n'],
  ['half a negative length', '$-\r\n'],
  ['a length beyond all measure', '$99999999999999999999\r\n'],
  ['a value larger than Redis has any', `$${512 * 1024 * 1024 + 1}\r\n`],
  ['a size of a list that is no number', '*two\r\n'],
  ['a size of a list below none', '*-7\r\n'],
  ['a size of a list that is a fraction', '*1.5\r\n'],
  ['an integer that is none', ':1e3\r\n'],
  ['an integer without digits', ':\r\n'],
  ['a line that ends otherwise', '+OK\rX'],
  ['a value that is longer than it says', '$2\r\nabc\r\n'],
  ['a kind of reply that is not known', '%1\r\n'],
  ['a list nested without end', '*1\r\n'.repeat(40)],
  ['a list of more elements than anything has', '*1048577\r\n'],
  ['lists of more elements together than anything has', `*2\r\n*1048576\r\n`],
  ['an unknown kind, before its line has ended', 'H'],
])('%s is said not to be a reply of Redis', (_name, wire) => {
  const parsed: ParsedReply[] = [];
  const all = new ReplyParser((reply) => parsed.push(reply));
  expect(() => all.push(Buffer.from(wire))).toThrow('expected a reply of Redis');
  const byBytes = new ReplyParser((reply) => parsed.push(reply));
  expect(() => {
    for (const byte of Buffer.from(wire)) byBytes.push(Buffer.from([byte]));
  }).toThrow('expected a reply of Redis');
  expect(parsed).toEqual([]);
});

test('the limits hold for each reply, not for all of them together', () => {
  const parsed: ParsedReply[] = [];
  const parser = new ReplyParser((reply) => parsed.push(reply));
  const row = Buffer.from(`*500000\r\n${':1\r\n'.repeat(500_000)}`);
  const deep = Buffer.from(`${'*1\r\n'.repeat(32)}:1\r\n`);
  for (const wire of [row, row, row, deep, deep]) parser.push(wire);
  expect(parsed).toHaveLength(5);
});

test('a line without end is given up', () => {
  const parser = new ReplyParser(() => {});
  expect(() => {
    for (let i = 0; i < 100; i++) parser.push(Buffer.alloc(64 * 1024, '+'));
  }).toThrow('expected a reply of Redis');
});

test('a long line that comes in small pieces is put together once', () => {
  const parsed: ParsedReply[] = [];
  const parser = new ReplyParser((reply) => parsed.push(reply));
  const text = 'x'.repeat(512 * 1024);
  const concat = vi.spyOn(Buffer, 'concat');
  onTestFinished(() => concat.mockRestore());
  for (const piece of [`-${text}`, '\r', '\n+next\r\n']) {
    for (let at = 0; at < piece.length; at += 64) parser.push(Buffer.from(piece.slice(at, at + 64)));
  }
  expect(parsed).toEqual([new ReplyError(text), 'next']);
  expect(concat.mock.calls.length).toBeLessThan(10);
});

function wireOf(reply: ParsedReply): Buffer {
  if (reply === null) return Buffer.from('$-1\r\n');
  if (typeof reply === 'number') return Buffer.from(`:${reply}\r\n`);
  if (reply instanceof ReplyError) return Buffer.from(`-${reply.message}\r\n`);
  if (typeof reply === 'string') return Buffer.from(`$${Buffer.byteLength(reply)}\r\n${reply}\r\n`);
  const list = reply as readonly ParsedReply[];
  return Buffer.concat([Buffer.from(`*${list.length}\r\n`), ...list.map(wireOf)]);
}

function asBytes(reply: ParsedReply): ParsedReply {
  if (typeof reply === 'string') return Buffer.from(reply);
  return Array.isArray(reply) ? reply.map(asBytes) : reply;
}
