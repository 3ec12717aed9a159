import { describe, expect, test } from 'vitest';
import { parseBody, refusalOfBody } from './infer-refusal.js';
import { echoSignature, ROWS_OF_4, spec } from './signatures.js';

const MODEL = echoSignature(spec('input', 'FP32', [-1, 2]), spec('mask', 'BOOL', [-1]));
const MASK = { name: 'mask', shape: [1], datatype: 'BOOL', data: [true] };
const INPUT = { name: 'input', shape: [1, 2], datatype: 'FP32', data: [1, 2] };

const parse = (body: unknown, signature = MODEL) => parseBody(body, signature);
const refusal = (body: unknown, signature = MODEL) => refusalOfBody(body, signature);

test('flat and nested data are the same tensor', () => {
  const flat = parse({ inputs: [{ ...INPUT, shape: [2, 2], data: [1, 2.5, 3, 4] }, MASK] });
  const nested = parse({
    inputs: [
      {
        ...INPUT,
        shape: [2, 2],
        data: [
          [1, 2.5],
          [3, 4],
        ],
      },
      MASK,
    ],
  });
  expect(flat.request.inputs.get('input')).toEqual({
    datatype: 'FP32',
    shape: [2, 2],
    data: Float32Array.of(1, 2.5, 3, 4),
  });
  expect(nested).toEqual(flat);
  expect(flat.request.inputs.get('mask')?.data).toEqual(Uint8Array.of(1));
});

test('without outputs all are answered, in the order of the model; the runner is not told', () => {
  for (const outputs of [undefined, []]) {
    const call = parse({ inputs: [INPUT, MASK], outputs });
    expect(call.request.outputs).toBeUndefined();
    expect(call.outputs).toEqual([
      { name: 'input_out', binary: false },
      { name: 'mask_out', binary: false },
    ]);
  }
});

// Clients made of models with optional members write null for those that are not there; only missing ones were taken so.
test('optional members that are null are not there', () => {
  const call = parse({
    id: null,
    parameters: null,
    inputs: [{ ...INPUT, parameters: null }, MASK],
    outputs: null,
  });
  expect(call).toEqual(parse({ inputs: [INPUT, MASK] }));
  const outputs = [{ name: 'mask_out', parameters: null }];
  expect(parse({ inputs: [INPUT, MASK], outputs }).outputs).toEqual([{ name: 'mask_out', binary: false }]);
});

test('outputs are answered in the order in which they were asked for, each in its form', () => {
  const call = parse({
    id: 'a',
    parameters: { binary_data_output: true, sequence_id: 7 },
    inputs: [MASK, INPUT],
    outputs: [{ name: 'mask_out' }, { name: 'input_out', parameters: { binary_data: false } }],
  });
  expect(call.id).toBe('a');
  expect(call.request.outputs).toEqual(['mask_out', 'input_out']);
  expect(call.outputs).toEqual([
    { name: 'mask_out', binary: true },
    { name: 'input_out', binary: false },
  ]);
});

test('fields that nobody knows are ignored, as are names that objects have anyway', () => {
  const json = `{"model_name":"m","__proto__":{"id":"x"},"constructor":1,"inputs":[
    {"name":"input","shape":[1,4],"datatype":"FP32","data":[1,2,3,4],"__proto__":{"data":null},"toString":null}]}`;
  const call = parse(json, ROWS_OF_4);
  expect(call.id).toBeUndefined();
  expect(call.request.inputs.get('input')?.data).toEqual(Float32Array.of(1, 2, 3, 4));
  expect(({} as Record<string, unknown>).id).toBeUndefined();
  expect(refusal('{"__proto__":{"inputs":[]}}')).toBe('inputs: expected an array of inputs, got nothing.');
});

test('a scalar is a shape without dimensions and one element', () => {
  const model = echoSignature(spec('x', 'INT32', []));
  const call = parse({ inputs: [{ name: 'x', shape: [], datatype: 'INT32', data: [5] }] }, model);
  expect(call.request.inputs.get('x')).toEqual({ datatype: 'INT32', shape: [], data: Int32Array.of(5) });
});

test('an input of any datatype and shape has those of the request', () => {
  const model = echoSignature({ ...spec('x', 'FP32', [-1, -1]), anyDatatype: true, anyShape: true });
  const tensorOf = (datatype: string, shape: number[], data: unknown[]) =>
    parse({ inputs: [{ name: 'x', datatype, shape, data }] }, model).request.inputs.get('x');
  expect(tensorOf('INT64', [2], [1, 2])).toEqual({
    datatype: 'INT64',
    shape: [2],
    data: BigInt64Array.of(1n, 2n),
  });
  expect(tensorOf('BYTES', [1, 1, 2], ['a', 'b'])).toMatchObject({ datatype: 'BYTES', shape: [1, 1, 2] });
  expect(() => tensorOf('INT65', [1], [1])).toThrow(
    /^inputs\[0\]\.datatype: expected one of BOOL, .*BYTES, got "INT65"/,
  );
  expect(() => tensorOf('FP32', [], [1])).toThrow('inputs[0].shape: expected at least 1 dimension');
  expect(() => tensorOf('FP32', [0, 2], [])).toThrow('inputs[0].shape[0]: expected at least one row');
});

test('a dimension behind the first may be 0', () => {
  const model = echoSignature(spec('past', 'FP32', [-1, 2, -1]));
  for (const data of [[], [[[], []]]]) {
    const call = parse({ inputs: [{ name: 'past', shape: [1, 2, 0], datatype: 'FP32', data }] }, model);
    expect(call.request.inputs.get('past')?.data).toHaveLength(0);
  }
});

describe('mistakes are told with their place', () => {
  const one = (change: object) => ({ inputs: [{ ...INPUT, ...change }, MASK] });
  const mistakes: [what: string, body: unknown, message: string][] = [
    ['an array', [], 'body: expected a JSON object, got an array of 0.'],
    ['null', 'null', 'body: expected a JSON object, got null.'],
    ['a number', '5', 'body: expected a JSON object, got 5.'],
    ['nothing', '', 'body: expected a JSON object, got nothing.'],
    ['an id that is a number', { id: 5 }, 'id: expected a string, got 5.'],
    ['no inputs', {}, 'inputs: expected an array of inputs, got nothing.'],
    ['inputs by name', { inputs: {} }, 'inputs: expected an array of inputs, got an object.'],
    ['an input that is null', { inputs: [null] }, 'inputs[0]: expected an object, got null.'],
    ['an input without a name', { inputs: [{}] }, 'inputs[0].name: expected a string, got nothing.'],
    [
      'a misspelt input',
      one({ name: 'imput' }),
      'inputs[0].name: expected an input of the model ("input", "mask"), got "imput". Did you mean "input"?',
    ],
    [
      'an input that objects have',
      one({ name: '__proto__' }),
      'inputs[0].name: expected an input of the model ("input", "mask"), got "__proto__".',
    ],
    [
      'an input twice',
      { inputs: [INPUT, MASK, INPUT] },
      'inputs[2].name: expected each input once, got "input" again.',
    ],
    [
      'an input too few',
      { inputs: [MASK] },
      'inputs: expected all inputs of the model, got none for "input".',
    ],
    [
      'another datatype',
      one({ datatype: 'FP64' }),
      'inputs[0].datatype: expected "FP32", the datatype of the model, got "FP64".',
    ],
    [
      'no datatype',
      one({ datatype: null }),
      'inputs[0].datatype: expected "FP32", the datatype of the model, got null.',
    ],
    ['no shape', one({ shape: 2 }), 'inputs[0].shape: expected an array of dimensions, got 2.'],
    [
      'a dimension too few',
      one({ shape: [2] }),
      'inputs[0].shape: expected 2 dimensions, because the model expects [-1, 2], got 1.',
    ],
    [
      'a dimension of another length',
      one({ shape: [1, 3], data: [1, 2, 3] }),
      'inputs[0].shape[1]: expected 2, because the model expects [-1, 2], got 3.',
    ],
    [
      'a negative dimension',
      one({ shape: [-1, 2] }),
      'inputs[0].shape[0]: expected a whole number from 0 up, got -1.',
    ],
    [
      'half a dimension',
      one({ shape: [0.5, 2] }),
      'inputs[0].shape[0]: expected a whole number from 0 up, got 0.5.',
    ],
    [
      'text as dimension',
      one({ shape: ['1', 2] }),
      'inputs[0].shape[0]: expected a whole number from 0 up, got "1".',
    ],
    ['no rows', one({ shape: [0, 2], data: [] }), 'inputs[0].shape[0]: expected at least one row, got 0.'],
    [
      'a shape beyond 2^53',
      one({ shape: [2 ** 53, 2] }),
      'inputs[0].shape[0]: expected a whole number from 0 up, got 9007199254740992.',
    ],
    [
      'a shape whose product is beyond 2^53',
      one({ shape: [2 ** 52, 2] }),
      'inputs[0].shape: [4503599627370496, 2] has more elements than a tensor can have.',
    ],
    [
      'too little data',
      one({ data: [1] }),
      'inputs[0].data: expected 2 elements for the shape [1, 2], got 1.',
    ],
    [
      'data for a huge shape',
      one({ shape: [2 ** 40, 2] }),
      'inputs[0].data: expected 2199023255552 elements for the shape [1099511627776, 2], got 2.',
    ],
    [
      'nested data for a huge shape',
      one({ shape: [2 ** 40, 2], data: [[1, 2]] }),
      'inputs[0].data: expected 2199023255552 elements for the shape [1099511627776, 2], got fewer.',
    ],
    ['data that is no array', one({ data: 5 }), 'inputs[0].data: expected an array, got 5.'],
    ['no data', one({ data: undefined }), 'inputs[0].data: expected an array, got nothing.'],
    [
      'null in the data',
      one({ data: [1, null] }),
      'inputs[0].data[1]: expected a number, got null. JSON has no NaN or Infinity: send such values as binary data over /v2.',
    ],
    [
      'NaN as text',
      one({ data: ['NaN', 1] }),
      'inputs[0].data[0]: expected a number, got "NaN". JSON has no NaN or Infinity: send such values as binary data over /v2.',
    ],
    ['a number as text', one({ data: ['1', 1] }), 'inputs[0].data[0]: expected a number, got "1".'],
    ['a boolean', one({ data: [true, 1] }), 'inputs[0].data[0]: expected a number, got true.'],
    [
      'an object with traps',
      one({ data: [{ valueOf: 1, toString: 2 }, 1] }),
      'inputs[0].data[0]: expected a number, got an object.',
    ],
    [
      'a number beyond FP32',
      one({ data: [1, 1e39] }),
      'inputs[0].data[1]: expected a number within the range of FP32, got 1e+39.',
    ],
    [
      'nested data in rows of unequal length',
      one({ shape: [2, 2], data: [[1, 2], [3]] }),
      'inputs[0].data[1]: expected an array of 2, got an array of 1.',
    ],
    [
      'nested data with a row too few',
      one({ shape: [2, 2], data: [[1, 2]] }),
      'inputs[0].data: expected an array of 2, got an array of 1.',
    ],
    [
      'nested data that is flat at the end',
      one({ shape: [2, 2], data: [[1, 2], 3, 4] }),
      'inputs[0].data: expected an array of 2, got an array of 3.',
    ],
    [
      'nested data with a wrong element',
      one({
        shape: [2, 2],
        data: [
          [1, 2],
          [3, 'x'],
        ],
      }),
      'inputs[0].data[1][1]: expected a number, got "x".',
    ],
    [
      'data nested deeper than the shape',
      one({ data: [[[1], [2]]] }),
      'inputs[0].data[0][0]: expected a number, got an array of 1.',
    ],
    [
      'a number for BOOL',
      { inputs: [INPUT, { ...MASK, data: [1] }] },
      'inputs[1].data[0]: expected true or false, got 1.',
    ],
    ['parameters that are a list', { parameters: [] }, 'parameters: expected an object, got an array of 0.'],
    [
      'a parameter that is null',
      { parameters: { a: null } },
      'parameters.a: expected a string, a number or a boolean, got null.',
    ],
    [
      'binary_data_output that is no boolean',
      { parameters: { binary_data_output: 1 } },
      'parameters.binary_data_output: expected true or false, got 1.',
    ],
    ['outputs by name', { outputs: 'x' }, 'outputs: expected an array of outputs, got "x".'],
    [
      'an output that is text',
      { outputs: ['input_out'] },
      'outputs[0]: expected an object, got "input_out".',
    ],
    ['an output without a name', { outputs: [{}] }, 'outputs[0].name: expected a string, got nothing.'],
    [
      'a misspelt output',
      { outputs: [{ name: 'mask_uot' }] },
      'outputs[0].name: expected an output of the model ("input_out", "mask_out"), got "mask_uot". Did you mean "mask_out"?',
    ],
    [
      'an output twice',
      { outputs: [{ name: 'mask_out' }, { name: 'mask_out' }] },
      'outputs[1].name: expected each output once, got "mask_out" again.',
    ],
    [
      'binary_data that is no boolean',
      { outputs: [{ name: 'mask_out', parameters: { binary_data: 'yes' } }] },
      'outputs[0].parameters.binary_data: expected true or false, got "yes".',
    ],
    [
      'shared memory',
      one({ parameters: { shared_memory_region: 'r' }, data: undefined }),
      'inputs[0].parameters.shared_memory_region: belongs to an extension that this server does not support.',
    ],
    [
      'binary data without the header',
      one({ parameters: { binary_data_size: 8 }, data: undefined }),
      'inputs[0].parameters.binary_data_size: expected the header inference-header-content-length with the length of the JSON, got none.',
    ],
    [
      'data and binary data',
      one({ parameters: { binary_data_size: 8 } }),
      'inputs[0]: expected either data or parameters.binary_data_size, got both.',
    ],
    [
      'a negative binary size',
      one({ parameters: { binary_data_size: -8 }, data: undefined }),
      'inputs[0].parameters.binary_data_size: expected a whole number from 0 up, got -8.',
    ],
  ];
  test.each(mistakes)('%s', (_, body, message) => {
    expect(refusal(body)).toBe(message);
  });
});

describe('integers are whole and within their range', () => {
  const data = (datatype: 'UINT8' | 'INT8' | 'INT32' | 'UINT32' | 'INT64' | 'UINT64', values: string) =>
    refusal(
      `{"inputs":[{"name":"x","shape":[1],"datatype":"${datatype}","data":[${values}]}]}`,
      echoSignature(spec('x', datatype, [-1])),
    );
  test.each([
    ['UINT8', '256', 'expected a whole number from 0 to 255, got 256.'],
    ['UINT8', '-1', 'expected a whole number from 0 to 255, got -1.'],
    ['INT8', '128', 'expected a whole number from -128 to 127, got 128.'],
    ['INT32', '1.5', 'expected a whole number from -2147483648 to 2147483647, got 1.5.'],
    ['INT32', '"1"', 'expected a whole number from -2147483648 to 2147483647, got "1".'],
    ['INT32', 'null', 'expected a whole number from -2147483648 to 2147483647, got null.'],
    ['UINT32', '4294967296', 'expected a whole number from 0 to 4294967295, got 4294967296.'],
    ['UINT64', '-1', 'expected a whole number from 0 to 18446744073709551615, got -1.'],
    [
      'UINT64',
      '18446744073709551616',
      'expected a whole number from 0 to 18446744073709551615, got "18446744073709551616".',
    ],
    ['INT64', '0.5', 'expected a whole number from -9223372036854775808 to 9223372036854775807, got 0.5.'],
    ['INT64', '""', 'expected a whole number from -9223372036854775808 to 9223372036854775807, got "".'],
    [
      'INT64',
      '"0x10"',
      'expected a whole number from -9223372036854775808 to 9223372036854775807, got "0x10".',
    ],
    [
      'INT64',
      '1e18',
      'expected a whole number from -9223372036854775808 to 9223372036854775807 with all its digits, got 1000000000000000000.',
    ],
  ] as const)('%s does not take %s', (datatype, value, message) => {
    expect(data(datatype, value)).toBe(`inputs[0].data[0]: ${message}`);
  });

  test('64 bits are read exactly, as numbers or as text, and leave other inputs alone', () => {
    const model = echoSignature(spec('ids', 'INT64', [-1, 2]), spec('x', 'FP64', [-1]));
    const call = parse(
      `{"inputs":[
        {"name":"x","shape":[1],"datatype":"FP64","data":[12345678901234567890]},
        {"name":"ids","shape":[2,2],"datatype":"INT64","data":[[9007199254740993,-9223372036854775808],["9223372036854775807",-7]]}]}`,
      model,
    );
    expect(call.request.inputs.get('ids')?.data).toEqual(
      BigInt64Array.of(9007199254740993n, -(2n ** 63n), 2n ** 63n - 1n, -7n),
    );
    expect(call.request.inputs.get('x')?.data).toEqual(Float64Array.of(Number('12345678901234567890')));
  });
});

describe('floats that JSON can write but no double can hold are refused', () => {
  test.each(['FP32', 'FP64', 'FP16'] as const)('%s', (datatype) => {
    const body = `{"inputs":[{"name":"x","shape":[2],"datatype":"${datatype}","data":[0,-1e999]}]}`;
    expect(refusal(body, echoSignature(spec('x', datatype, [-1])))).toBe(
      `inputs[0].data[1]: expected a number within the range of ${datatype}, got -Infinity.`,
    );
  });

  test('NaN, as Python writes it, is no JSON, and the answer says what to do', () => {
    const message = refusal(
      '{"inputs":[{"name":"input","shape":[1,4],"datatype":"FP32","data":[1, NaN, 2, 3]}]}',
    );
    expect(message).toMatch(
      /^body: expected JSON, but .*JSON has no NaN or Infinity: send such values as binary data over \/v2\.$/,
    );
    expect(refusal('{"inputs":')).toMatch(/^body: expected JSON, but [^\n]*end of JSON input\.$/);
  });
});

describe('text', () => {
  const model = echoSignature(spec('text', 'BYTES', [-1]));
  const data = (...values: unknown[]) => ({
    inputs: [{ name: 'text', shape: [values.length], datatype: 'BYTES', data: values }],
  });

  test('is UTF-8, or anything in Base64', () => {
    const call = parse(data('é', '', { b64: '/w==' }), model);
    const texts = call.request.inputs.get('text')?.data as readonly Uint8Array[];
    expect(texts.map((text) => [...text])).toEqual([[0xc3, 0xa9], [], [0xff]]);
  });

  test('that UTF-8 cannot carry, or that is none, is refused', () => {
    expect(refusal(data('\ud800'), model)).toBe(
      'inputs[0].data[0]: expected text that UTF-8 can encode, got a string with half of a surrogate pair.',
    );
    for (const value of [5, null, [], {}, { b64: 5 }, { b64: 'abc' }, { b64: 'a*==' }]) {
      expect(refusal(data(value), model)).toMatch(
        /^inputs\[0\]\.data\[0\]: expected a string, or \{"b64": "…"\} with bytes in Base64, got /,
      );
    }
  });
});
