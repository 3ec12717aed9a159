import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byteSize, byteSizeText } from '../../src/config/kinds/byte-size.js';
import { duration, durationText } from '../../src/config/kinds/duration.js';
import { batchDimensions, devices, risingSizes } from '../../src/config/kinds/list-kinds.js';
import { modelList } from '../../src/config/kinds/model-list.js';
import { milliseconds, wholeNumber } from '../../src/config/kinds/number-kinds.js';
import { optional } from '../../src/config/kinds/optional.js';
import { choice, filePath, text, trueOrFalse } from '../../src/config/kinds/text-kinds.js';
import type { Kind } from '../../src/config/setting-kind.js';

const REFUSED = Symbol('refused');

function parsed(kind: Kind<unknown>, value: unknown, folder = ''): unknown {
  const verdict = kind.parse(value, { folder });
  return 'value' in verdict ? verdict.value : REFUSED;
}

function complaint(kind: Kind<unknown>, value: unknown): string | undefined {
  const verdict = kind.parse(value, { folder: '' });
  return 'value' in verdict ? undefined : verdict.complaints[0]?.message;
}

describe('durations', () => {
  const kind = duration({ leastMs: 1, mostMs: 3_600_000, orUnlimited: true });

  test.each<[unknown, number]>([
    [30, 30_000],
    [0.5, 500],
    [1.1, 1100],
    [0.29, 290],
    ['500ms', 500],
    ['2s', 2000],
    ['1.5s', 1500],
    ['1m', 60_000],
    ['1h', 3_600_000],
    ['2 s', 2000],
    ['unlimited', Number.POSITIVE_INFINITY],
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    [-1, Number.POSITIVE_INFINITY],
  ])('%j is %d ms', (value, ms) => expect(parsed(kind, value)).toBe(ms));

  test.each([
    0,
    -2,
    '0ms',
    '2h',
    '5',
    '',
    's',
    '1e3s',
    '-1s',
    '0x10s',
    '1 d',
    `${'9'.repeat(400)}s`,
    Number.NaN,
    Number.NEGATIVE_INFINITY,
    true,
    null,
    [1],
    new Map(),
  ])('%j is none', (value) => expect(parsed(kind, value)).toBe(REFUSED));

  test('only where it makes sense there may be no end', () => {
    expect(parsed(duration({ leastMs: 1, mostMs: 1000 }), 'unlimited')).toBe(REFUSED);
  });

  test('are written so that they are read as the same', () => {
    expect([0, 1, 1000, 1500, 60_000, 90_000, 7_200_000].map(durationText)).toEqual([
      '0ms',
      '1ms',
      '1s',
      '1500ms',
      '1m',
      '90s',
      '2h',
    ]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3_600_000 }), (ms) => parsed(kind, kind.write(ms)) === ms),
    );
  });
});

describe('sizes', () => {
  const kind = byteSize({ least: 1, most: 2 ** 31 });

  test.each<[unknown, number]>([
    [1024, 1024],
    ['64MB', 64_000_000],
    ['64MiB', 67_108_864],
    ['64 mib', 67_108_864],
    ['10KB', 10_000],
    ['1.5KiB', 1536],
    ['2GiB', 2 ** 31],
    ['7B', 7],
  ])('%j is %d bytes', (value, bytes) => expect(parsed(kind, value)).toBe(bytes));

  test.each([0, -1, 1.5, '1.5B', '64', '64M', '3GiB', 'MB', Number.NaN, Number.POSITIVE_INFINITY, null, []])(
    '%j is none',
    (value) => expect(parsed(kind, value)).toBe(REFUSED),
  );

  test('are written so that they are read as the same', () => {
    expect([1, 1024, 1_000_000, 2 ** 26, 2 ** 30].map(byteSizeText)).toEqual([
      '1B',
      '1KiB',
      '1000000B',
      '64MiB',
      '1GiB',
    ]);
    fc.assert(fc.property(fc.integer({ min: 1, max: 2 ** 31 }), (n) => parsed(kind, kind.write(n)) === n));
  });
});

describe('numbers', () => {
  test('a whole number is one within its range', () => {
    const kind = wholeNumber({ least: 1, most: 1000 });
    expect([1, 1000].map((value) => parsed(kind, value))).toEqual([1, 1000]);
    for (const value of [0, 1001, 1.5, '5', null, true, Number.NaN, Number.POSITIVE_INFINITY, -1])
      expect(parsed(kind, value)).toBe(REFUSED);
    expect(complaint(kind, '5')).toBe('expected a whole number from 1 to 1,000, got the string "5".');
  });

  test('milliseconds may have a fraction', () => {
    const kind = milliseconds({ least: 0, most: 1000 });
    expect([0, 0.5, 1000].map((value) => parsed(kind, value))).toEqual([0, 0.5, 1000]);
    for (const value of [-0.5, 1001, '5ms', Number.NaN]) expect(parsed(kind, value)).toBe(REFUSED);
  });

  test('no limit is unlimited, .inf or -1, and written as a word', () => {
    const kind = wholeNumber({ least: 1, most: 10, orUnlimited: true });
    for (const value of ['unlimited', Number.POSITIVE_INFINITY, -1])
      expect(parsed(kind, value)).toBe(Number.POSITIVE_INFINITY);
    expect(kind.write(Number.POSITIVE_INFINITY)).toBe('unlimited');
    expect(complaint(kind, 0)).toBe('expected a whole number from 1 to 10, or unlimited, got 0.');
  });

  test('an optional one may be null, and says so', () => {
    const kind = optional(wholeNumber({ least: 1, most: 10 }));
    expect(parsed(kind, null)).toBe(undefined);
    expect(parsed(kind, 3)).toBe(3);
    expect([kind.write(undefined), kind.write(3)]).toEqual([null, 3]);
    expect(complaint(kind, 'none')).toBe(
      'expected a whole number from 1 to 10, or null for none, got the string "none".',
    );
  });
});

describe('texts', () => {
  test('true and false have the words of YAML 1.1 too', () => {
    for (const value of [true, 'yes', 'On']) expect(parsed(trueOrFalse, value)).toBe(true);
    for (const value of [false, 'no', 'OFF']) expect(parsed(trueOrFalse, value)).toBe(false);
    for (const value of [0, 1, 'y', 'true ', null]) expect(parsed(trueOrFalse, value)).toBe(REFUSED);
  });

  test('a choice is one of its words', () => {
    expect(parsed(choice('a', 'b', 'c'), 'b')).toBe('b');
    expect(complaint(choice('a', 'b', 'c'), 'B')).toBe('expected a, b or c, got the string "B".');
    expect(parsed(choice('a'), 'toString')).toBe(REFUSED);
  });

  test('texts have no control characters and no blanks around them', () => {
    const kind = text('a host');
    expect(parsed(kind, 'localhost')).toBe('localhost');
    for (const value of ['', ' a', 'a\n', 'a\u0000b', 'x'.repeat(5000), 5, null])
      expect(parsed(kind, value)).toBe(REFUSED);
    expect(complaint(kind, 'x'.repeat(5000))?.length).toBeLessThan(100);
  });

  test('a relative path starts from where it is written', () => {
    const kind = filePath('a file');
    expect(parsed(kind, 'a/b.ts', 'conf')).toBe('conf/a/b.ts');
    expect(parsed(kind, '../b.ts', 'conf')).toBe('b.ts');
    expect(parsed(kind, '/b.ts', 'conf')).toBe('/b.ts');
    expect(parsed(kind, './b.ts')).toBe('./b.ts');
    expect(parsed(kind, 'b\0.ts')).toBe(REFUSED);
  });
});

describe('lists', () => {
  test('batch sizes rise', () => {
    const kind = risingSizes({ most: 64 });
    expect(parsed(kind, [1, 2, 64])).toEqual([1, 2, 64]);
    expect(parsed(kind, 8)).toEqual([8]);
    expect(parsed(kind, [])).toEqual([]);
    expect(complaint(kind, [4, 4])).toBe('expected a number above the previous one, 4, got 4.');
    expect(complaint(kind, [4, 65])).toMatch(/^expected a list of rising whole numbers from 1 to 64, got 65/);
    for (const value of [[0], [1.5], ['1'], null, 'a', new Map()]) expect(parsed(kind, value)).toBe(REFUSED);
  });

  test('devices are a count or their numbers', () => {
    expect([0, 2, [3, 1]].map((value) => parsed(devices, value))).toEqual([[], [0, 1], [3, 1]]);
    expect(complaint(devices, [0, 0])).toBe('expected each device once, got 0.');
    for (const value of [-1, 65, 0.5, [64], ['0'], null, 'all']) expect(parsed(devices, value)).toBe(REFUSED);
  });

  test('the batch dimension is one for both or one each', () => {
    expect(parsed(batchDimensions, 1)).toEqual([1, 1]);
    expect(parsed(batchDimensions, [0, 1])).toEqual([0, 1]);
    for (const value of [-1, [0], [0, 1, 2], [0, -1], '0', null])
      expect(parsed(batchDimensions, value)).toBe(REFUSED);
  });

  test('models are called as their files unless they have a name', () => {
    const models = ['models/digits.onnx', new Map([['path', 'b/v1.2.onnx']])];
    const named = new Map([
      ['name', 'iris'],
      ['path', '/abs/model.onnx'],
    ]);
    const value = parsed(modelList, [...models, named], 'conf');
    expect(value).toEqual([
      { name: 'digits', path: 'conf/models/digits.onnx' },
      { name: 'v1.2', path: 'conf/b/v1.2.onnx' },
      { name: 'iris', path: '/abs/model.onnx' },
    ]);
    expect(modelList.write(value as never)).toEqual([
      'conf/models/digits.onnx',
      'conf/b/v1.2.onnx',
      { name: 'iris', path: '/abs/model.onnx' },
    ]);
  });

  test('a Python model is named after its file, also with an object in it', () => {
    const value = parsed(
      modelList,
      [
        'models/text.py',
        'models/iris.py:Classifier',
        new Map([
          ['path', 'b.py:x'],
          ['name', 'c'],
        ]),
      ],
      'conf',
    );
    expect(value).toEqual([
      { name: 'text', path: 'conf/models/text.py' },
      { name: 'iris', path: 'conf/models/iris.py:Classifier' },
      { name: 'c', path: 'conf/b.py:x' },
    ]);
    expect(modelList.write(value as never)).toEqual([
      'conf/models/text.py',
      'conf/models/iris.py:Classifier',
      { name: 'c', path: 'conf/b.py:x' },
    ]);
    expect(complaint(modelList, ['text.py:A', 'text.py:B'])).toMatch(/has the same name, text\. Give one/);
  });

  test('a name that could not be a part of a URL is refused', () => {
    for (const name of ['', 'a/b', '..', '.', 'a\\b', 'a\nb', 5, null, 'x'.repeat(201)])
      expect(
        parsed(modelList, [
          new Map<string, unknown>([
            ['name', name],
            ['path', 'a.onnx'],
          ]),
        ]),
      ).toBe(REFUSED);
  });
});
