/** Trace files, and the errors of invalid ones. */
import { ArenaError, parseTrace } from '@batchwise/arena';
import { expect, test } from 'vitest';

test('a line has one time', () => {
  expect(parseTrace('0\n1.5\n1.5\n2e1\n', 't.csv')).toEqual({
    timesMs: [0, 1.5, 1.5, 20],
    traits: undefined,
  });
});

test('any line endings are accepted; empty lines and comments are ignored', () => {
  expect(parseTrace('\uFEFF# recorded on Monday\r\n1\r\n\r\n 2 \r3\n', 't.csv').timesMs).toEqual([1, 2, 3]);
});

test('further columns are traits of items', () => {
  expect(parseTrace('0,2,a,5,anna\n1,,b\n2\n', 't.csv')).toEqual({
    timesMs: [0, 1, 2],
    traits: [{ cost: 2, group: 'a', priority: 5, tenant: 'anna' }, { group: 'b' }, {}],
  });
});

test('a header may name the columns, in any order', () => {
  expect(parseTrace('Group,time_ms,cost\na,0,2\n"b, ""c""",1,3\n', 't.csv')).toEqual({
    timesMs: [0, 1],
    traits: [
      { group: 'a', cost: 2 },
      { group: 'b, "c"', cost: 3 },
    ],
  });
});

test.each([
  ['', '', 'expected at least one arrival time, got an empty file.'],
  ['time_ms\n', '', 'expected at least one arrival time, got an empty file.'],
  ['0\n5\n3\n', 'line 3', 'expected not less than the time before (5), got 3.'],
  ['-1\n', 'line 1', 'time_ms: expected milliseconds from 0 to 100000000000, got "-1".'],
  ['0\nnull\n', 'line 2', 'time_ms: expected milliseconds from 0 to 100000000000, got "null".'],
  ['NaN\n', 'line 1', 'time_ms: expected milliseconds from 0 to 100000000000, got "NaN".'],
  ['0x10\n', 'line 1', 'time_ms: expected milliseconds from 0 to 100000000000, got "0x10".'],
  ['1e999\n', 'line 1', 'time_ms: expected milliseconds from 0 to 100000000000, got "1e999".'],
  ['# one\n\n,2\n', 'line 3', 'time_ms: expected milliseconds from 0 to 100000000000, got "".'],
  ['0,0\n', 'line 1', 'cost: expected a number above 0, at most 1000000000, got "0".'],
  ['0,1,a,1.5\n', 'line 1', 'priority: expected a whole number from -100 to 100, got "1.5".'],
  [
    'time_ms,cots\n',
    'line 1',
    'unknown column "cots". Did you mean cost? Known are time_ms, cost, group, priority, tenant.',
  ],
  ['group,cost\n', 'line 1', 'expected a column time_ms.'],
  ['time_ms,cost,cost\n', 'line 1', 'expected every column once.'],
  ['0\n1,2\n', 'line 2', 'expected 1 columns (time_ms), got 2.'],
  ['0,1,"a"b\n', 'line 1', 'expected a comma or the end of the line after "\\"a\\"b".'],
])('%j is an error with its line', (text, path, message) => {
  const parse = () => parseTrace(text, 't.csv');
  expect(parse).toThrow(ArenaError);
  expect(parse).toThrow(
    expect.objectContaining({
      code: 'INVALID_TRACE',
      path,
      message: `t.csv: ${path === '' ? '' : `${path}: `}${message}`,
    }),
  );
});
