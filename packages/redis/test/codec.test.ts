/** How items, results and errors travel. */
import { BatchwiseError } from 'batchwise';
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import { expect, test } from 'vitest';
import { type Answer, codecFor, codecOf, type PayloadKind } from '../src/codec.js';
import { errorToData } from '../src/error-data.js';

function roundTrip(kind: PayloadKind, results: readonly unknown[]): unknown[] {
  const codec = codecFor(kind);
  const answers = results.map(
    (result, number): Answer =>
      result instanceof Error
        ? { number, payload: undefined, error: errorToData(result) }
        : { number, payload: result === undefined ? undefined : codec.encode(result), error: undefined },
  );
  const back: unknown[] = [];
  codec.unpackAnswers(codec.packAnswers(answers), (number, result) => {
    back[number] = result;
  });
  return back;
}

test('items and results come back as JSON does it', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), (values) => {
      expect(values.map((value) => codecFor().decode(codecFor().encode(value)))).toEqual(values);
      expect(roundTrip('json', values)).toEqual(values);
    }),
  );
});

test('MessagePack carries what JSON cannot: bytes, dates, big integers, numbers that are none', () => {
  const values = [
    Buffer.from([0, 255]),
    new Date(5),
    2n ** 60n,
    Number.NaN,
    Number.NEGATIVE_INFINITY,
    null,
    [1, { a: 'ü' }],
  ];
  expect(roundTrip('msgpack', values)).toEqual(values);
});

test('bytes come back as they were', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array()), (values) => {
      const back = roundTrip('bytes', values) as Buffer[];
      expect(back.map((bytes) => [...bytes])).toEqual(values.map((bytes) => [...bytes]));
    }),
  );
});

test('a view of a larger buffer is sent as the view it is', () => {
  const view = new Uint8Array([1, 2, 3, 4]).subarray(1, 3);
  expect(codecFor('bytes').encode(view)).toEqual(Buffer.from([2, 3]));
});

test.each(['json', 'msgpack'] as const)(
  'nothing, as a result, is nothing on the other side too: %s',
  (kind) => {
    expect(roundTrip(kind, [undefined, null, 0])).toEqual([undefined, null, 0]);
  },
);

test.each(['json', 'msgpack', 'bytes'] as const)(
  'errors keep code, cause and time to come back: %s',
  (kind) => {
    const cause = new TypeError('no such row');
    const [back, other] = roundTrip(kind, [
      new BatchwiseError('OVERLOADED', 'too much', { retryAfterMs: 7, cause }),
      cause,
    ]) as [BatchwiseError, Error];
    expect(back).toBeInstanceOf(BatchwiseError);
    expect(back).toMatchObject({ code: 'OVERLOADED', retryAfterMs: 7, message: 'too much' });
    expect(back.cause).toMatchObject({ name: 'TypeError', message: 'no such row' });
    expect(other).toMatchObject({ name: 'TypeError', message: 'no such row' });
  },
);

test('an unknown code is an error like any other; __proto__ is no code', () => {
  for (const code of ['NEW_ONE', '__proto__', 'toString']) {
    const data = { name: 'BatchwiseError', message: 'm', code };
    const packed = JSON.stringify([[0, 0, data]]);
    codecFor().unpackAnswers(packed, (_, result) => {
      expect(result).toBeInstanceOf(Error);
      expect(result).not.toBeInstanceOf(BatchwiseError);
    });
  }
});

// A cause that was null, or a message that is no text, threw where it was read: all calls of the client failed by it.
const forged: readonly unknown[] = [
  {},
  { name: 'Error' },
  { name: 1, message: 'm' },
  { name: 'Error', message: { toString: 1 } },
  { name: 'Error', message: 'm', cause: null },
  { name: 'Error', message: 'm', cause: 'text' },
  { name: 'Error', message: 'm', cause: { name: null } },
  { name: 'BatchwiseError', message: 'm', code: ['CLOSED'] },
  { name: 'BatchwiseError', message: 'm', code: 'OVERLOADED', retryAfterMs: 'soon' },
  { name: 'BatchwiseError', message: 'm', code: 'OVERLOADED', retryAfterMs: -1 },
  [],
];

test.each(['json', 'msgpack', 'bytes'] as const)(
  'a malformed error fails its own call and no other: %s',
  (kind) => {
    const answers = [[1], ...forged.map((error, i) => [10 + i, null, error]), [2]];
    const packed =
      kind === 'json' ? JSON.stringify(answers) : (new Packr({ useRecords: false }).pack(answers) as Buffer);
    const results = new Map<number, unknown>();
    codecFor(kind).unpackAnswers(packed, (number, result) => results.set(number, result));
    expect(results.size).toBe(forged.length + 2);
    for (const [number, result] of results) {
      if (number < 10) expect(result).toBeUndefined();
      else expect(result).toBeInstanceOf(Error);
    }
    expect(results.get(10)).toMatchObject({
      code: 'BAD_RESULT',
      message: expect.stringContaining('malformed'),
    });
    expect(results.get(18)).not.toHaveProperty('retryAfterMs');
  },
);

test('causes of causes are read up to a limit', () => {
  let error: unknown = { name: 'Error', message: 'm' };
  for (let i = 0; i < 5000; i++) error = { name: 'Error', message: 'm', cause: error };
  codecFor().unpackAnswers(JSON.stringify([[1, null, error]]), (_, result) => {
    let levels = 0;
    for (
      let cause = result as Error | undefined;
      cause !== undefined;
      cause = cause.cause as Error | undefined
    )
      levels += 1;
    expect(levels).toBe(5);
  });
});

test('whatever is thrown can be told, also what throws when it is read', () => {
  const hostile = new Error('m');
  for (const name of ['name', 'message', 'cause']) {
    Object.defineProperty(hostile, name, {
      get() {
        throw new Error('not readable');
      },
    });
  }
  expect(errorToData(hostile)).toEqual({
    name: 'a value that cannot be converted to text',
    message: 'a value that cannot be converted to text',
  });
});

test.each([[undefined], [() => 1], [Symbol('s')], [1n]])('JSON has nothing for some values', (value) => {
  expect(() => codecFor('json').encode(value)).toThrow(TypeError);
});

test.each(['a string', [1, 2], null, 5])('bytes takes nothing but bytes', (value) => {
  expect(() => codecFor('bytes').encode(value)).toThrow(/expected a Uint8Array, got /);
});

test('a client says in its id how it reads; what is no client of ours gets JSON', () => {
  expect(codecOf('msgpack-1f').kind).toBe('msgpack');
  for (const id of ['', 'x', '__proto__-1', 'toString-1']) expect(codecOf(id).kind).toBe('json');
});

test('an unknown payload is refused, with those there are', () => {
  expect(() => codecFor('xml' as PayloadKind)).toThrow(
    "payload: expected 'json' or 'msgpack' or 'bytes', got \"xml\".",
  );
});
