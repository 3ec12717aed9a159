import { describe, expect, test } from 'vitest';
import { refusalOfBody } from './infer-refusal.js';
import { echoSignature, ROWS_OF_4, spec } from './signatures.js';

const INPUT = { name: 'input', shape: [1, 4], datatype: 'FP32', data: [1, 2, 3, 4] };
const refusal = (body: unknown, signature = ROWS_OF_4) => refusalOfBody(body, signature);

describe('hostile bodies', () => {
  const DEEP = 100_000;

  test('nesting 100,000 deep is an answer, wherever it is', () => {
    const deep = '['.repeat(DEEP) + ']'.repeat(DEEP);
    const object = `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`;
    expect(refusal(deep)).toBe('body: expected a JSON object, got an array of 1.');
    expect(
      refusal(`{"inputs":[{"name":"input","shape":[1,4],"datatype":"FP32","data":${deep}}]}`, ROWS_OF_4),
    ).toBe('inputs[0].data[0]: expected an array of 4, got an array of 1.');
    expect(
      refusal(
        `{"inputs":[{"name":"input","shape":[1,4],"datatype":"FP32","data":[[${deep},1,2,3]]}]}`,
        ROWS_OF_4,
      ),
    ).toBe('inputs[0].data[0][0]: expected a number, got an array of 1.');
    expect(refusal(`{"parameters":{"a":${object}}}`)).toBe(
      'parameters.a: expected a string, a number or a boolean, got an object.',
    );
    const long = echoSignature(spec('x', 'INT64', [-1]));
    expect(
      refusal(
        `{"inputs":[{"name":"x","shape":[1],"datatype":"INT64","data":[${deep}]}],"y":1234567890123456789}`,
        long,
      ),
    ).toContain('got an array of 1.');
    expect(refusal('['.repeat(DEEP))).toMatch(/^body: expected JSON, but /);
  });

  test('bytes that are not UTF-8 are not guessed at', () => {
    expect(refusal(Buffer.from('7b226964223a22ff227d', 'hex'))).toBe(
      'body: expected JSON in UTF-8, got bytes that are not UTF-8.',
    );
  });

  test('what is long is shortened in the answer', () => {
    expect(refusal({ inputs: [{ ...INPUT, name: 'x'.repeat(1e6) }] }).length).toBeLessThan(200);
    expect(refusal({ parameters: { ['y'.repeat(1e6)]: null } }).length).toBeLessThan(200);
    expect(refusal({ inputs: [{ ...INPUT, shape: new Array(1e5).fill(1) }] }).length).toBeLessThan(200);
  });

  test('one long row and many short ones do not ask for their product in memory', () => {
    const rows = 20_000;
    const data = [new Array(rows).fill(0), ...new Array(rows - 1).fill([])];
    const model = echoSignature(spec('x', 'FP64', [-1, -1]));
    expect(refusal({ inputs: [{ name: 'x', shape: [rows, rows], datatype: 'FP64', data }] }, model)).toBe(
      'inputs[0].data: expected 400000000 elements for the shape [20000, 20000], got fewer.',
    );
  });
});
