import { describe, expect, test } from 'vitest';
import { bodyLimitsOf, DEFAULT_BODY_BYTES } from '../../src/body-limits.js';
import { parseInferRequest } from '../../src/protocols/infer-request.js';
import { parsePredictRequest } from '../../src/protocols/predict-request.js';
import { refusalOfBody } from './infer-refusal.js';
import { echoSignature, ROWS_OF_4, spec } from './signatures.js';

const INPUT = { name: 'input', shape: [1, 4], datatype: 'FP32', data: [1, 2, 3, 4] };
const refusal = (body: unknown, signature = ROWS_OF_4) => refusalOfBody(body, signature);

describe('hostile bodies', () => {
  const DEEP = 195;

  test('nesting 195 deep is an answer, wherever it is, and deeper is refused', () => {
    const deep = '['.repeat(DEEP) + ']'.repeat(DEEP);
    const object = `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`;
    expect(refusal(deep)).toBe('body: expected a JSON object, got an array of 1.');
    expect(
      refusal(`{"inputs":[{"name":"input","shape":[1,4],"datatype":"FP32","data":${deep}}]}`, ROWS_OF_4),
    ).toBe('inputs[0].data[0]: expected an array of 4, got an array of 1.');
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
    expect(refusal('['.repeat(100_000))).toBe('body: expected JSON of at most 200 levels, got more.');
  });

  test('more values, keys or rows than a model takes are counted before they are parsed', () => {
    const rows = (count: number) => `{"instances":[${'1,'.repeat(count - 1)}1]}`;
    const one = echoSignature(spec('x', 'FP32', [-1]));
    expect(() => parsePredictRequest(Buffer.from(rows(65_536)), one)).not.toThrow();
    expect(() => parsePredictRequest(Buffer.from(rows(70_000)), one)).toThrow(
      'body: expected JSON of at most 66560 values, got more (see server.limits.body_bytes).',
    );
    expect(() =>
      parsePredictRequest(Buffer.from(rows(70_000)), one, bodyLimitsOf(2 * DEFAULT_BODY_BYTES)),
    ).not.toThrow();
    const keys = Array.from({ length: 400 }, (_, index) => `"${index}":1`);
    expect(() => refusal(`{"parameters":{${keys}}}`)).toThrow(
      'body: expected JSON of at most 320 keys, got more (see server.limits.body_bytes).',
    );
  });

  test('an answer of more values than can be written in a moment is refused before it is computed', () => {
    const model = {
      inputs: [spec('id', 'INT64', [-1])],
      outputs: [spec('vector', 'FP32', [-1, 768])],
    };
    expect(() => parsePredictRequest(Buffer.from(`{"instances":[${'1,'.repeat(999)}1]}`), model)).toThrow(
      'body: expected at most 455 rows, because the response has 768 JSON values for each, got 1000 (see server.limits.body_bytes).',
    );
    const request = { inputs: [{ name: 'id', shape: [1000], datatype: 'INT64', data: Array(1000).fill(1) }] };
    expect(() => refusal(request, model)).toThrow('expected at most 455 rows');
    const binary = { ...request, parameters: { binary_data_output: true } };
    expect(() => parseInferRequest(Buffer.from(JSON.stringify(binary)), {}, model)).not.toThrow();
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
