/**
 * What is decoded equals what was encoded, or encoding throws. msgpackr without `moreTypes` wrote a Float32Array as
 * length × 4 bytes of which only the first `length` were written: the others were memory of earlier requests.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { createContext, runInContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Codec, codecFor, type PayloadKind } from '../src/codec.js';

/** As an item, and as a result. */
function passes(kind: PayloadKind, value: unknown): unknown[] {
  const codec = codecFor(kind);
  const item = codec.decode(travelled(codec, codec.encode(value)));
  let result: unknown;
  const packed = codec.packAnswers([{ number: 7, payload: codec.encode(value), error: undefined }]);
  codec.unpackAnswers(travelled(codec, packed), (_, came) => {
    result = came;
  });
  return [item, result];
}

/** As it comes from Redis: as text that was UTF-8, or as a Buffer in the middle of a larger one. */
function travelled(codec: Codec, payload: string | Buffer): string | Buffer {
  if (codec.isText) return Buffer.from(payload as string).toString('utf8');
  const received = Buffer.concat([Buffer.from('before'), payload as Buffer, Buffer.from('after')]);
  return received.subarray(6, received.length - 5);
}

class Point {
  x = 1;
}
class Rows extends Array<number> {}

const cyclic: unknown[] = [];
cyclic.push({ back: cyclic });
const twiceCyclic: unknown[] = [];
twiceCyclic.push(twiceCyclic, twiceCyclic);
const deep = (levels: number) => {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = i % 2 ? [value] : { value };
  return value;
};
const shared = { a: 1 };
const named = Object.assign([1, 2], { name: 'x' });
// As many keys as elements.
const namedHole = Object.assign(new Array<number>(2).fill(1, 0, 1), { name: 'x' });
delete namedHole[1];
const hidden = (value: object) => Object.defineProperty(value, 'toJSON', { value: () => 'changed' });
const memory = new ArrayBuffer(64);
new Uint8Array(memory).forEach((_, i, bytes) => {
  bytes[i] = i + 1;
});

const typedArrays: readonly [string, unknown][] = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
].flatMap((Type): [string, unknown][] => [
  [`an empty ${Type.name}`, new Type(0)],
  [`a ${Type.name}`, new Type(memory.slice(0))],
  [`a ${Type.name} that is a part of a larger one`, new Type(memory, 16, 2)],
]);

const everywhere: readonly [string, unknown][] = [
  ['null', null],
  ['booleans', [true, false]],
  ['numbers', [0, 1, -1, 0.1, 2 ** 31, -(2 ** 31), 2 ** 53, -(2 ** 60), 1e308, 5e-324, 127, 128, 65536]],
  ['-0', -0],
  ['-0 within', { rows: [[0, -0], { zero: -0, 'a "key"': [-0] }], gone: 'x' }],
  ['an empty string', ''],
  ['text', 'Grüße, 世界, 🚀 \u0000 "\\" \u2028 \ufeff'],
  ['a huge string', 'ü€x'.repeat(400_000)],
  ['an empty array and object', [[], {}]],
  ['an object without prototype', Object.assign(Object.create(null), { a: 1 })],
  ['what is used twice', [shared, shared]],
  ['deep nesting', deep(400)],
  [
    'keys of Object.prototype',
    { constructor: 1, hasOwnProperty: 2, toString: 'x', valueOf: null, toJSON: 3 },
  ],
  [
    'more members than 16 bits count',
    Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`k${i}`, i])),
  ],
  ['plain data of another realm', runInContext('({ a: [1, { b: "x" }] })', createContext())],
];

const nowhere: readonly [string, unknown, RegExp][] = [
  ['a function', () => 1, /^a function \(/],
  ['a method', { rows: [{ run() {} }] }, /^a function at \.rows\[0\]\.run \(/],
  ['an object with toJSON', { toJSON: () => 'text' }, /^a function at \.toJSON \(/],
  ['a class', Point, /^a function \(/],
  ['a symbol', Symbol('s'), /^a symbol \(/],
  ['a symbol as key', { a: { [Symbol('s')]: 1 } }, /^an object with a symbol as key at \.a \(/],
  ['an instance of a class', { point: new Point() }, /^an instance of Point at \.point \(/],
  ['an instance of an array class', Rows.from([1, 2]), /^an instance of Rows \(/],
  ['an Error', [new TypeError('x')], /^an instance of TypeError at \[0\] \(/],
  ['a RegExp', /x/g, /^an instance of RegExp \(/],
  ['a Map', new Map([[1, 2]]), /^an instance of Map \(/],
  ['a WeakMap', new WeakMap(), /^an instance of WeakMap \(/],
  ['a Promise', Promise.resolve(1), /^an instance of Promise \(/],
  ['a boxed number', Object(1), /^an instance of Number \(/],
  ['a URL', new URL('http://localhost/'), /^an instance of URL \(/],
  ['a shared ArrayBuffer', new SharedArrayBuffer(8), /^an instance of SharedArrayBuffer \(/],
  ['a generator', (function* () {})(), /^an instance of /],
  ['an inheriting object', Object.create({ a: 1 }), /^an instance of Object \(/],
  // biome-ignore lint/suspicious/noSparseArray: that is what is tested
  ['an array with holes', { a: [1, , 2] }, /^an array with holes or with named properties at \.a \(/],
  ['an array with named properties', named, /^an array with holes or/],
  ['an array with a hole and a named property', namedHole, /^an array with holes or/],
  ['an array with a symbol as key', Object.assign([1], { [Symbol('s')]: 2 }), /^an array with holes or/],
  ['an object with toJSON that is not enumerable', [hidden({ a: 1 })], /^an object with toJSON at \[0\] \(/],
  ['an array with toJSON that is not enumerable', { a: hidden([1]) }, /^an object with toJSON at \.a \(/],
  ['a circle', cyclic, /^a circular reference at \[0\]\.back \(/],
  ['two circles', twiceCyclic, /^a circular reference at \[0\] \(/],
  ['too deep nesting', deep(100_000), /^a value nested more than 500 levels deep at /],
];

const onlyMessagePack: readonly [string, unknown][] = [
  ['undefined', undefined],
  ['undefined within', [undefined, { a: undefined }]],
  ['NaN and the infinities', [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]],
  [
    'BigInts',
    [0n, 10n, -1n, 2n ** 63n, -(2n ** 63n), 2n ** 64n, -(2n ** 64n), 2n ** 200n, -(2n ** 200n) - 1n],
  ],
  [
    'dates',
    [new Date(0), new Date(-1), new Date(1234), new Date(8.64e15), new Date(-8.64e15), new Date(4e14 + 1)],
  ],
  ['a Set', new Set([1, 'a', { b: [-0] }])],
  ['a Buffer', Buffer.from('bytes')],
  ['an empty Buffer', Buffer.alloc(0)],
  ['a large Buffer', Buffer.alloc(100_000, 'abc')],
  ['an ArrayBuffer', memory],
  ['a DataView', new DataView(memory, 3, 7)],
  [
    'bytes with -0 next to them',
    [new Float32Array([1.5, -0]), -0, Buffer.from('b'), new Date(5), new Set([[-0]])],
  ],
  ...typedArrays,
];

describe.each(['json', 'msgpack'] as const)('%s', (kind) => {
  test.each(everywhere)('carries %s', (_, value) => {
    for (const came of passes(kind, value)) deepStrictEqual(came, plain(value));
  });

  test.each(nowhere)('rejects %s', (_, value, message) => {
    expect(() => codecFor(kind).encode(value)).toThrow(TypeError);
    expect(() => codecFor(kind).encode(value)).toThrow(message);
    // What failed leaves nothing behind.
    expect(passes(kind, { a: [1, 'x'] })[0]).toEqual({ a: [1, 'x'] });
  });

  test('whatever is decoded equals what was encoded, or encoding throws', () => {
    fc.assert(
      fc.property(anything, (value) => {
        try {
          codecFor(kind).encode(value);
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
          return;
        }
        const expected = kind === 'json' ? withoutUndefined(value) : plain(value);
        for (const came of passes(kind, value)) deepStrictEqual(came, expected);
      }),
      { numRuns: 400 },
    );
  });
});

test.each([new Date(5), new Set([1]), new ArrayBuffer(2)])(
  'MessagePack rejects named properties: %o',
  (value) => {
    expect(() => codecFor('msgpack').encode({ a: Object.assign(value, { name: 'x' }) })).toThrow(
      /^a \w+ with named properties at \.a \(/,
    );
  },
);

test.each(onlyMessagePack)('MessagePack carries %s', (_, value) => {
  for (const came of passes('msgpack', value)) deepStrictEqual(came, value);
});

test.each(onlyMessagePack.filter(([name]) => name !== 'undefined within'))('JSON rejects %s', (_, value) => {
  expect(() => codecFor('json').encode(value)).toThrow(TypeError);
});

test('JSON leaves out members that are undefined, and rejects undefined elements', () => {
  expect(passes('json', { a: 1, b: undefined, c: { d: undefined, zero: -0 } })[0]).toStrictEqual({
    a: 1,
    c: { zero: -0 },
  });
  expect(() => codecFor('json').encode({ rows: [1, undefined] })).toThrow(
    'undefined at .rows[1] (JSON supports ',
  );
  expect(() => codecFor('json').encode([Number.NaN])).toThrow('NaN at [0] (JSON supports ');
});

test('JSON carries lone surrogates and __proto__; MessagePack rejects both', () => {
  const proto = JSON.parse('{"__proto__":{"a":1}}') as unknown;
  for (const value of ['\ud800', { '\udc00x': '\ud800' }, proto]) {
    expect(passes('json', value)[0]).toStrictEqual(value);
    expect(() => codecFor('msgpack').encode(value)).toThrow(TypeError);
  }
  expect(Object.getPrototypeOf(passes('json', proto)[0])).toBe(Object.prototype);
});

test('MessagePack carries an invalid date', () => {
  for (const came of passes('msgpack', new Date(Number.NaN))) expect(came).toEqual(new Date(Number.NaN));
});

test('MessagePack rejects instances that are not what their prototype says', () => {
  for (const { prototype } of [Date, Set, Uint8Array, ArrayBuffer, DataView, Buffer]) {
    expect(() => codecFor('msgpack').encode(Object.create(prototype))).toThrow(TypeError);
  }
});

test.each(['msgpack', 'bytes'] as const)('what is decoded has memory of its own: %s', (kind) => {
  for (const bytes of [Buffer.from('abc'), Buffer.alloc(10_000, 'x')]) {
    for (const came of passes(kind, bytes) as Buffer[]) {
      deepStrictEqual(came, bytes);
      expect(came.buffer.byteLength).toBe(bytes.length);
    }
  }
});

// Nothing that somebody else writes into Redis may change how the next message is read.
test('bytes that are no message leave nothing behind', () => {
  const value = { a: [64, 100, 127, -5, 'text'], b: new Float32Array([1]), c: new Set([1n]) };
  const codec = codecFor('msgpack');
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        codec.decode(Buffer.from(bytes));
      } catch {
        // as it may
      }
      codec.unpackAnswers(Buffer.from(bytes), () => {});
      expect(codec.decode(codec.encode(value))).toStrictEqual(value);
    }),
    { numRuns: 2000, examples: [[Uint8Array.from([0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61, 1])]] },
  );
});

const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  withBoxedValues: true,
  withUnicodeString: true,
  maxDepth: 4,
  key: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('__proto__', 'toJSON', 'constructor')),
});

/** Objects without a prototype come back as plain ones. */
function plain(value: unknown): unknown {
  return mapped(value, () => true);
}

function withoutUndefined(value: unknown): unknown {
  return mapped(value, (member) => member !== undefined);
}

function mapped(value: unknown, isKept: (member: unknown) => boolean): unknown {
  if (Array.isArray(value)) return Array.from(value, (element) => mapped(element, isKept));
  if (value instanceof Set) return new Set([...value].map((element) => mapped(element, isKept)));
  const prototype = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : undefined;
  if (prototype === undefined || (prototype !== null && Object.getPrototypeOf(prototype) !== null))
    return value;
  const kept = Object.entries(value as object).filter(([, member]) => isKept(member));
  return Object.fromEntries(kept.map(([key, member]) => [key, mapped(member, isKept)]));
}
