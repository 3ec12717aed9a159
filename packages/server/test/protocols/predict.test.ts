import type { Signature, Tensor } from '@batchwise/runners';
import { describe, expect, test } from 'vitest';
import { parsePredictRequest } from '../../src/protocols/predict-request.js';
import { formatPredictResponse } from '../../src/protocols/predict-response.js';
import { RequestError } from '../../src/request-error.js';
import { echoSignature, ROWS_OF_4, spec } from './signatures.js';

const TWO = echoSignature(spec('signal', 'FP32', [-1, 2]), spec('tag', 'BYTES', [-1]));
const IMAGE = echoSignature(spec('image', 'FP32', [-1, 1, 2, 2]));

function parse(body: unknown, signature: Signature = ROWS_OF_4) {
  return parsePredictRequest(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), signature);
}

function refusal(body: unknown, signature?: Signature): string {
  try {
    parse(body, signature);
  } catch (error) {
    if (error instanceof RequestError && error.code === 'BAD_REQUEST') return error.message;
    throw error;
  }
  return 'taken';
}

const JSON_ITEMS: Signature = {
  inputs: [{ name: 'items', datatype: 'BYTES', shape: [-1], content: 'json' }],
  outputs: [{ name: 'output', datatype: 'BYTES', shape: [-1], content: 'json' }],
};
const JSON_AND_NUMBERS: Signature = {
  inputs: [...JSON_ITEMS.inputs, spec('scale', 'FP32', [-1])],
  outputs: [...JSON_ITEMS.outputs, spec('score', 'FP32', [-1])],
};

const texts = (tensor: Tensor | undefined) =>
  ((tensor?.data ?? []) as Uint8Array[]).map((data) => Buffer.from(data).toString());
const jsonTensor = (...values: string[]): Tensor => ({
  datatype: 'BYTES',
  shape: [values.length],
  data: values.map((text) => Buffer.from(text)),
});

describe('an input of any datatype and shape', () => {
  const open = { ...spec('x', 'FP32', [-1, -1]), anyDatatype: true, anyShape: true } as const;
  const signature = echoSignature(open);
  const shapeOf = (body: unknown) => {
    const { datatype, shape } = parse(body, signature).request.inputs.get('x') as Tensor;
    return [datatype, ...shape];
  };

  test('has those of the rows', () => {
    expect(shapeOf({ instances: [1, 2] })).toEqual(['FP32', 2]);
    expect(shapeOf({ instances: [[[1, 2]]] })).toEqual(['FP32', 1, 1, 2]);
    expect(shapeOf({ instances: [{ x: ['a'] }, { x: ['b'] }] })).toEqual(['BYTES', 2, 1]);
    expect(shapeOf({ inputs: [true, false] })).toEqual(['BOOL', 2]);
    expect(shapeOf({ instances: [[]] })).toEqual(['FP32', 1, 0]);
  });

  test('has rows that are alike', () => {
    expect(refusal({ instances: [[1, 2], [3]] }, signature)).toBe(
      'instances[1]: expected an array of 2, got an array of 1.',
    );
    expect(refusal({ instances: [1, 'a'] }, signature)).toBe('instances[1]: expected a number, got "a".');
  });
});

describe('JSON items', () => {
  test('are any values, an object with the name of the input too', () => {
    const values = [{ items: [1] }, { b64: 'AA==' }, [[1], 2], 'text', null, 5];
    const { request, rows } = parse({ instances: values }, JSON_ITEMS);
    expect(rows).toBe(values.length);
    expect(texts(request.inputs.get('items'))).toEqual(values.map((value) => JSON.stringify(value)));
  });

  test('come as a column, too', () => {
    for (const inputs of [[{ a: 1 }, 2], { items: [{ a: 1 }, 2] }])
      expect(texts(parse({ inputs }, JSON_ITEMS).request.inputs.get('items'))).toEqual(['{"a":1}', '2']);
    expect(refusal({ inputs: 5 }, JSON_ITEMS)).toBe('inputs: expected an array, got 5.');
    expect(refusal({ inputs: [] }, JSON_ITEMS)).toBe(
      'inputs: expected at least one row, got an empty array.',
    );
  });

  test('are named if there are several inputs', () => {
    const { inputs } = parse({ instances: [{ items: { a: 1 }, scale: 2 }] }, JSON_AND_NUMBERS).request;
    expect(texts(inputs.get('items'))).toEqual(['{"a":1}']);
    expect(inputs.get('scale')?.data).toEqual(Float32Array.of(2));
    expect(refusal({ instances: [5] }, JSON_AND_NUMBERS)).toContain('expected an object with the inputs');
  });

  test('may have more values than rows', () => {
    const nested = Array.from({ length: 50_000 }, (_, index) => index);
    expect(texts(parse({ instances: [nested] }, JSON_ITEMS).request.inputs.get('items'))).toHaveLength(1);
    // The limits of all JSON bodies apply.
    const deep = `{"instances":[${'['.repeat(300)}${']'.repeat(300)}]}`;
    expect(refusal(deep, JSON_ITEMS)).toMatch(/at most \d+ levels/);
  });

  test('are answered with the texts of the model as they are', () => {
    const tensors = new Map([['output', jsonTensor('{"a": 1.50}', '"ü"', 'null')]]);
    expect(formatPredictResponse(JSON_ITEMS, tensors, 3).body).toBe('{"predictions":[{"a": 1.50},"ü",null]}');
    expect(formatPredictResponse(JSON_ITEMS, tensors, undefined).body).toBe(
      '{"outputs":[{"a": 1.50},"ü",null]}',
    );
    const score: Tensor = { datatype: 'FP32', shape: [3], data: Float32Array.of(1, 2, 3) };
    const two = new Map([...tensors, ['score', score]]);
    expect(formatPredictResponse(JSON_AND_NUMBERS, two, 3).body).toBe(
      '{"predictions":[{"output":{"a": 1.50},"score":1},{"output":"ü","score":2},{"output":null,"score":3}]}',
    );
    expect(formatPredictResponse(JSON_AND_NUMBERS, two, undefined).body).toBe(
      '{"outputs":{"output":[{"a": 1.50},"ü",null],"score":[1,2,3]}}',
    );
  });
});

describe('instances', () => {
  test('are the rows of the only input, named or not', () => {
    const rows = [
      [1, 2, 3, 4],
      [5, 6, 7, 8],
    ];
    const expected = { datatype: 'FP32', shape: [2, 4], data: Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8) };
    const call = parse({ instances: rows, signature_name: 'serving_default' });
    expect(call.rows).toBe(2);
    expect(call.request.inputs.get('input')).toEqual(expected);
    expect(parse({ instances: rows.map((input) => ({ input })) })).toEqual(call);
  });

  test('of several inputs are objects by name', () => {
    const { inputs } = parse(
      {
        instances: [
          { tag: 'a', signal: [1, 2] },
          { signal: [3, 4], tag: 'b' },
        ],
      },
      TWO,
    ).request;
    expect(inputs.get('signal')?.data).toEqual(Float32Array.of(1, 2, 3, 4));
    expect(inputs.get('tag')?.shape).toEqual([2]);
  });

  test('may be flat where the shape of a row is fixed', () => {
    const nested = parse(
      {
        instances: [
          [
            [
              [1, 2],
              [3, 4],
            ],
          ],
          [
            [
              [5, 6],
              [7, 8],
            ],
          ],
        ],
      },
      IMAGE,
    );
    expect(nested.request.inputs.get('image')?.shape).toEqual([2, 1, 2, 2]);
    expect(
      parse(
        {
          instances: [
            [1, 2, 3, 4],
            [5, 6, 7, 8],
          ],
        },
        IMAGE,
      ),
    ).toEqual(nested);
  });

  test('of text may be Base64', () => {
    const model = echoSignature(spec('text', 'BYTES', [-1]));
    const text = (...instances: unknown[]) =>
      [parse({ instances }, model).request.inputs.get('text')?.data].flat().map(String);
    expect(text('a', { b64: 'Yg==' })).toEqual(['a', 'b']);
    expect(text({ b64: 'Yg==' }, 'a')).toEqual(['b', 'a']);
    expect(text({ text: 'c' })).toEqual(['c']);
  });

  test('keep all digits of 64-bit integers', () => {
    const model = echoSignature(spec('id', 'UINT64', [-1]), spec('x', 'FP64', [-1]));
    const { inputs } = parse(
      '{"instances":[{"id":18446744073709551615,"x":9007199254740993}]}',
      model,
    ).request;
    expect(inputs.get('id')?.data).toEqual(BigUint64Array.of(2n ** 64n - 1n));
    expect(inputs.get('x')?.data).toEqual(Float64Array.of(2 ** 53));
  });
});

test('inputs are columns: of the only input, or by name; and need not have equal lengths', () => {
  expect(parse({ inputs: [[1, 2, 3, 4]] })).toEqual(parse({ inputs: { input: [[1, 2, 3, 4]] } }));
  const model = echoSignature(spec('a', 'INT32', [-1]), spec('b', 'INT32', []));
  const call = parse({ inputs: { a: [1, 2, 3], b: 4 } }, model);
  expect(call.rows).toBeUndefined();
  expect(call.request.inputs.get('a')?.data).toEqual(Int32Array.of(1, 2, 3));
  expect(call.request.inputs.get('b')).toEqual({ datatype: 'INT32', shape: [], data: Int32Array.of(4) });
});

describe('mistakes are told with their place', () => {
  const mistakes: [what: string, body: unknown, message: string, signature?: Signature][] = [
    ['nothing', {}, 'instances: expected an array of rows, got nothing.'],
    ['no rows', { instances: [] }, 'instances: expected at least one row, got an empty array.'],
    ['no rows in a column', { inputs: [] }, 'inputs: expected at least one row, got an empty array.'],
    ['an object', { instances: {} }, 'instances: expected an array of rows, got an object.'],
    ['both', { instances: [], inputs: [] }, 'body: expected either instances or inputs, got both.'],
    [
      'another signature',
      { instances: [], signature_name: 'x' },
      'signature_name: expected "serving_default", the only signature of the model, got "x".',
    ],
    [
      'a row that is too short',
      { instances: [[1, 2, 3]] },
      'instances[0]: expected an array of 4, because the model expects [-1, 4], got an array of 3.',
    ],
    [
      'a later row that is too short',
      {
        instances: [
          [1, 2, 3, 4],
          [1, 2, 3, 4],
          [1, 2, 3],
        ],
      },
      'instances[2]: expected an array of 4, got an array of 3.',
    ],
    [
      'a row that is no array',
      { instances: [5] },
      'instances[0]: expected an array of 4, because the model expects [-1, 4], got 5.',
    ],
    [
      'a later row that is none',
      { instances: [[1, 2, 3, 4], null] },
      'instances[1]: expected an array of 4, got null.',
    ],
    [
      'an element',
      {
        instances: [
          [1, 2, 3, 4],
          [1, 'x', 3, 4],
        ],
      },
      'instances[1][1]: expected a number, got "x".',
    ],
    [
      'rows of unequal length where any is right',
      {
        instances: [
          [1, 2],
          [1, 2, 3],
        ],
      },
      'instances[1]: expected an array of 2, got an array of 3.',
      echoSignature(spec('x', 'INT32', [-1, -1])),
    ],
    [
      'rows of which the model takes one',
      { instances: [[1], [2]] },
      'instances: expected an array of 1, because the model expects [1, 1], got an array of 2.',
      echoSignature(spec('x', 'INT32', [1, 1])),
    ],
    [
      'a flat row among nested ones',
      {
        instances: [
          [
            [
              [1, 2],
              [3, 4],
            ],
          ],
          [1, 2, 3, 4],
        ],
      },
      'instances[1]: expected an array of 1, got an array of 4.',
      IMAGE,
    ],
    [
      // It was told of the nested form alone, which it did not mean to have.
      'a flat row that is too short',
      { instances: [[1, 2, 3]] },
      'instances[0]: expected an array of 1 or of all 4 values, because the model expects [-1, 1, 2, 2], got an array of 3.',
      IMAGE,
    ],
    [
      'rows without names',
      { instances: [[1, 2]] },
      'instances[0]: expected an object with the inputs "signal", "tag", got an array of 2.',
      TWO,
    ],
    [
      'a later row without a name',
      { instances: [{ signal: [1, 2], tag: 'a' }, { signal: [1, 2] }] },
      'instances[1]: expected all inputs of the model, got none for "tag".',
      TWO,
    ],
    [
      'a misspelt name',
      { instances: [{ signl: [1, 2], tag: 'a' }] },
      'instances[0]: expected an input of the model ("signal", "tag"), got "signl". Did you mean "signal"?',
      TWO,
    ],
    [
      'an element of a named input',
      {
        instances: [
          { signal: [1, 2], tag: 'a' },
          { signal: [1, null], tag: 'b' },
        ],
      },
      'instances[1].signal[1]: expected a number, got null. JSON has no NaN or Infinity: send such values as binary data over /v2.',
      TWO,
    ],
    [
      'a scalar of a named input',
      { instances: [{ signal: [1, 2], tag: 5 }] },
      'instances[0].tag: expected a string, or {"b64": "…"} with bytes in Base64, got 5.',
      TWO,
    ],
    [
      'a name that only objects have',
      { instances: [{}] },
      'instances[0]: expected all inputs of the model, got none for "toString".',
      echoSignature(spec('toString', 'INT32', [-1])),
    ],
    [
      'a column that is none',
      { inputs: { signal: 5, tag: ['a'] } },
      'inputs.signal: expected an array, got 5.',
      TWO,
    ],
    [
      'columns without names',
      { inputs: [[1, 2]] },
      'inputs: expected an object with the inputs "signal", "tag", got an array of 1.',
      TWO,
    ],
    [
      'an element of a column',
      {
        inputs: {
          signal: [
            [1, 2],
            [3, true],
          ],
          tag: ['a', 'b'],
        },
      },
      'inputs.signal[1][1]: expected a number, got true.',
      TWO,
    ],
    [
      'rows of an input that has none',
      { instances: [1] },
      'instances: expected inputs, because the input "x" is a single value.',
      echoSignature(spec('x', 'INT32', [])),
    ],
  ];
  test.each(mistakes)('%s', (_, body, message, signature) => {
    expect(refusal(body, signature)).toBe(message);
  });

  test('one long row and many short ones do not ask for their product in memory', () => {
    const instances = [new Array(20_000).fill(0), ...new Array(20_000).fill([])];
    expect(refusal({ instances }, echoSignature(spec('x', 'FP64', [-1, -1])))).toBe(
      'instances: expected 400020000 elements for the shape [20001, 20000], got fewer.',
    );
  });
});

describe('predictions', () => {
  const floats = (shape: number[], ...values: number[]): Tensor => ({
    datatype: 'FP32',
    shape,
    data: Float32Array.from(values),
  });
  const one: Signature = { inputs: [], outputs: [spec('y', 'FP32', [-1, -1])] };
  const two: Signature = {
    inputs: [],
    outputs: [spec('y', 'FP32', [-1, -1]), spec('__proto__', 'INT64', [-1])],
  };

  test('of one output are its rows', () => {
    expect(formatPredictResponse(one, new Map([['y', floats([2, 2], 1, 2, 3, 4)]]), 2)).toEqual({
      headers: { 'content-type': 'application/json' },
      body: '{"predictions":[[1,2],[3,4]]}',
    });
    expect(formatPredictResponse(one, new Map([['y', floats([2], 1, Number.NaN)]]), 2).body).toBe(
      '{"predictions":[1,null]}',
    );
    expect(formatPredictResponse(one, new Map([['y', floats([2, 0, 3])]]), 2).body).toBe(
      '{"predictions":[[],[]]}',
    );
  });

  test('of several are objects by name, whatever the name', () => {
    const tensors = new Map<string, Tensor>([
      ['y', floats([2, 1, 2], 1, 2, 3, 4)],
      ['__proto__', { datatype: 'INT64', shape: [2], data: BigInt64Array.of(1n, 2n ** 60n) }],
    ]);
    expect(formatPredictResponse(two, tensors, 2).body).toBe(
      '{"predictions":[{"y":[[1,2]],"__proto__":1},{"y":[[3,4]],"__proto__":1152921504606846976}]}',
    );
    expect(formatPredictResponse(two, tensors, undefined).body).toBe(
      '{"outputs":{"y":[[[1,2]],[[3,4]]],"__proto__":[1,1152921504606846976]}}',
    );
  });

  test('cannot be told row by row when the output has other rows', () => {
    const tensors = new Map([['y', floats([1, 2], 1, 2)]]);
    expect(() => formatPredictResponse(one, tensors, 2)).toThrow(
      'instances: expected inputs, because the output "y" has the shape [1, 2], not one row for each of 2.',
    );
    expect(formatPredictResponse(one, tensors, undefined).body).toBe('{"outputs":[[1,2]]}');
  });
});
