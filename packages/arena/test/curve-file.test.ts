/** The forms of service curves, and the errors of invalid ones. */
import { ArenaError, parseCurve, parseCurveText } from '@batchwise/arena';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const at = (value: unknown, size: number, maxBatchSize?: number) =>
  parseCurve(value, 'file', { maxBatchSize }).durationMs(size);

function problem(parse: () => unknown): ArenaError {
  try {
    parse();
  } catch (error) {
    expect(error).toBeInstanceOf(ArenaError);
    return error as ArenaError;
  }
  throw new Error('There was no error.');
}

describe('tables', () => {
  const forms: unknown[] = [
    [
      { size: 1, ms: 5 },
      { size: 9, ms: 13 },
    ],
    { '1': 5, '9': 13 },
    { '9': { p50_ms: 13, p99_ms: 20 }, '1': { p50_ms: 5, p99_ms: 9 } },
    { resnet50: { '1': { p50_ms: 5 }, '9': { p50_ms: 13 } } },
  ];

  test.each(forms.map((form) => [form]))(
    '%j is linear between its points, and its largest size is the maximum batch size',
    (form) => {
      const curve = parseCurve(form, 'file');
      expect([1, 3, 9].map((size) => curve.durationMs(size))).toEqual([5, 7, 13]);
      expect(curve.maxBatchSize).toBe(9);
      expect(curve.name).toBe('file');
    },
  );

  test('one that begins above 1 is constant below its first point, as with padding', () => {
    expect(at({ '8': 4, '16': 6 }, 1)).toBe(4);
  });

  test('is extrapolated linearly if batches may be larger than its last point', () => {
    expect(at({ '1': 5, '9': 13 }, 19, 20)).toBe(23);
  });

  test('a larger batch that is quicker is pooled with the one before', () => {
    expect(at({ '1': 5.6, '8': 5.2 }, 1)).toBeCloseTo(5.4);
    expect(at({ '1': 5.6, '8': 5.2 }, 8)).toBeCloseTo(5.4);
  });

  test.each([
    [[], '', 'expected a list of points { "size", "ms" }, got an empty list.'],
    [{}, '', 'expected durations for 1 to 1000 batch sizes, got 0.'],
    [null, '', 'expected the name of a curve, a formula or a table, got null.'],
    [5, '', 'expected the name of a curve, a formula or a table, got 5.'],
    [[{ size: 1, ms: 5 }, null], '[1]', 'expected an object, got null.'],
    [[{ size: 1 }], '[0].ms', 'expected a number above 0, at most 100000000, got nothing.'],
    [[{ size: 1, ms: Number.NaN }], '[0].ms', 'expected a number above 0, at most 100000000, got NaN.'],
    [[{ size: 0, ms: 1 }], '[0].size', 'expected a number above 0, at most 65536, got 0.'],
    [[{ size: 1, ms: 5, sms: 4 }], '[0]', 'unknown key "sms". Did you mean ms? Known are size, ms.'],
    [
      [
        { size: 4, ms: 5 },
        { size: 4, ms: 6 },
      ],
      '[1].size',
      'expected more than the size before (4), got 4.',
    ],
    [{ '1': null }, '["1"]', 'expected a number above 0, at most 100000000, got null.'],
    [{ '1': { mean: 4 } }, '["1"].p50_ms', 'expected a number above 0, at most 100000000, got nothing.'],
    [{ '1': 5, two: 6 }, '', 'expected batch sizes as keys, got "two".'],
    [{ '0': 5 }, '', 'expected batch sizes as keys, or one curve under its name, got "0".'],
    [
      { resnet50: { '1': 5 }, vit: { '1': 9 } },
      '',
      'expected batch sizes as keys, or one curve under its name, got "resnet50", "vit".',
    ],
    [{ resnet50: { vit: { '1': 5 } } }, 'resnet50', 'expected batch sizes as keys, got an object.'],
    [JSON.parse('{ "__proto__": 5, "1": 4 }'), '', 'expected batch sizes as keys, got "__proto__".'],
  ])('%j is an error with its location', (value, path, message) => {
    const error = problem(() => parseCurve(value, 'curve.json'));
    expect(error).toMatchObject({ code: 'INVALID_CURVE', path });
    expect(error.message).toBe(`curve.json: ${path === '' ? '' : `${path}: `}${message}`);
  });
});

describe('curves of the grid', () => {
  test('are found by name', () => {
    expect(parseCurve('resnet50', 'file')).toMatchObject({ name: 'resnet50', maxBatchSize: 256 });
    expect(parseCurve('d', 'file', { maxBatchSize: 16 })).toMatchObject({ name: 'd', maxBatchSize: 16 });
  });

  test('a mistyped name gets a hint', () => {
    const { message } = problem(() => parseCurve('resnet5', 'file'));
    expect(message).toContain('unknown curve "resnet5". Did you mean resnet50? Known are a, b, c, d,');
  });
});

describe('formulas', () => {
  test.each([
    ['5 + 0.1*b', 10, 6],
    ['2 + 0.25*2^ceil(log2(b))', 33, 18],
    ['2^3^2', 1, 512],
    ['10 - 2 - 3', 1, 5],
    ['24 / 4 / 2', 1, 3],
    ['2 + 3 * 4 ^ 2', 1, 50],
    ['(2 + 3) * 4', 1, 20],
    ['10 + -b', 3, 7],
    ['10 - -b', 3, 13],
    ['-2^2 + 5', 1, 1],
    ['2^-1', 1, 0.5],
    ['max(1, b, 3)', 2, 3],
    ['min(b, 4)', 9, 4],
    ['pow(b, 2)', 3, 9],
    ['sqrt(b) + floor(b/4)', 9, 5],
    ['1e-1*b+.5', 5, 1],
    [' ( ( b ) ) ', 7, 7],
  ])('%s at %d is %d', (formula, size, ms) => {
    expect(at(formula, size, 9.5 > size ? 9 : 64)).toBeCloseTo(ms);
  });

  test.each([
    ['5 + 0.1b', 'at column 8', 'expected an operator, got "b". Write products with "*".'],
    ['5 + * b', 'at column 5', 'expected a number, b, a function or "(", got "*".'],
    ['2 ** b', 'at column 4', 'expected a number, b, a function or "(", got "*".'],
    ['5 +', 'at column 4', 'expected a number, b, a function or "(", got the end of the formula.'],
    ['(5 + b', 'at column 7', 'expected an operator or ")", got the end of the formula.'],
    ['5 + b)', 'at column 6', 'expected an operator, got ")".'],
    ['ceil b', 'at column 6', 'expected "(" after ceil, got "b".'],
    ['pow(b)', 'at column 6', 'expected ",", got ")".'],
    ['ceil(b, 2)', 'at column 7', 'expected an operator or ")", got ",".'],
    [
      '1 + sqr(b)',
      'at column 5',
      'unknown word "sqr". Did you mean sqrt? Known are b, ceil, floor, sqrt, log2, pow, max, min.',
    ],
    [
      'process.exit(1)',
      'at column 1',
      'unknown word "process". Known are b, ceil, floor, sqrt, log2, pow, max, min.',
    ],
    [
      'constructor(b)',
      'at column 1',
      'unknown word "constructor". Known are b, ceil, floor, sqrt, log2, pow, max, min.',
    ],
    ['5; b', 'at column 2', 'expected an operator, got ";".'],
    [
      '10 - b',
      '',
      'expected a duration above 0 ms for every batch, at most 100000000, got 0. That is at size 10.',
    ],
    [
      '1/(b-3)^2',
      '',
      'expected a duration above 0 ms for every batch, at most 100000000, got Infinity. That is at size 3.',
    ],
    [
      'sqrt(b-2)',
      '',
      'expected a duration above 0 ms for every batch, at most 100000000, got NaN. That is at size 1.',
    ],
    [
      '2^b',
      '',
      'expected a duration above 0 ms for every batch, at most 100000000, got 134217728. That is at size 27.',
    ],
    ['', '', 'expected the name of a curve, a formula or a table, got the string "".'],
  ])('%s is an error with its location', (formula, path, message) => {
    const error = problem(() => parseCurve(formula, 'file', { maxBatchSize: 64 }));
    expect(error).toMatchObject({ code: 'INVALID_CURVE', path });
    expect(error.message).toBe(`file: ${path === '' ? '' : `${path}: `}${message}`);
  });

  test('one without a maximum batch size is an error', () => {
    expect(problem(() => parseCurve('5 + b', 'file')).message).toContain('a formula needs max_batch_size');
  });

  test('one that is too long or nested too deep is an error', () => {
    expect(problem(() => at('('.repeat(100_000), 1, 4)).message).toContain('at most 1000 characters');
    expect(problem(() => at('('.repeat(1000), 1, 4)).message).toContain('got the end of the formula');
  });

  test('any text is a curve or an ArenaError', () => {
    const part = fc.constantFrom(
      'b',
      '1',
      '2.5',
      '+',
      '-',
      '*',
      '/',
      '^',
      '(',
      ')',
      ',',
      'max',
      'ceil',
      ' ',
      '.',
      'e',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        try {
          expect(at(parts.join(''), 1, 4)).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toBeInstanceOf(ArenaError);
        }
      }),
    );
  });
});

describe('text', () => {
  test.each([
    ['{ "1": 5, }', 'line 1, column 11', 'expected a key in double quotes, got "}".'],
    ['{\n  "1": 5\n  "2": 6\n}', 'line 3, column 3', 'expected "," or "}", got "\\"".'],
    ['{ "1" 5 }', 'line 1, column 7', 'expected ":", got "5".'],
    ['{ 1: 5 }', 'line 1, column 3', 'expected a key in double quotes or "}", got "1".'],
    ['[1, 2', 'line 1, column 6', 'expected "," or "]", got the end of the file.'],
    ['[1, 2}', 'line 1, column 6', 'expected "," or "]", got "}".'],
    ['{ "1": NaN }', 'line 1, column 8', 'expected a value, got "NaN".'],
    ['{ "1": 05 }', 'line 1, column 9', 'expected "," or "}", got "5".'],
    [
      '{ "1": "a\n" }',
      'line 1, column 8',
      'expected a string that ends on its line and has no unknown escapes, got "\\"".',
    ],
    ['{ "1": 5 } // why', 'line 1, column 12', 'expected nothing more, got "/".'],
    ['', 'line 1, column 1', 'expected a value, got the end of the file.'],
  ])('%j is an error with line and column', (text, path, message) => {
    const error = problem(() => parseCurveText(text, 'curve.json'));
    expect(error).toMatchObject({ code: 'INVALID_CURVE', path, message: `curve.json: ${path}: ${message}` });
    expect(error.cause).toBeInstanceOf(SyntaxError);
  });

  test('a hundred thousand brackets do not overflow the stack', () => {
    const { path } = problem(() => parseCurveText('['.repeat(100_000), 'curve.json'));
    expect(path).toBe('line 1, column 100001');
  });

  test('in a truncated text the error is at the end', () => {
    const text = JSON.stringify({ a: [1, -2.5e3, { b: 'x"y\\', c: [] }], d: {}, e: [true, null] });
    for (let length = 0; length < text.length; length++) {
      const { path } = problem(() => parseCurveText(text.slice(0, length), 'curve.json'));
      const column = Number(path.replace('line 1, column ', ''));
      expect(column).toBeLessThanOrEqual(length + 1);
      // The error of a truncated word is at its beginning.
      expect(text.slice(column - 1, length)).toMatch(/^(?:|".*|-|[a-z]+|\.|[eE]|\.\d*e)$/);
    }
  });

  test('a byte order mark is ignored', () => {
    expect(parseCurveText('\uFEFF{ "1": 5 }', 'curve.json').durationMs(1)).toBe(5);
  });
});
