import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BINARY_HEADER,
  BinaryTail,
  DATATYPES,
  decodeRaw,
  elementsToJson,
  encodeRaw,
  JsonBody,
  jsonLength,
  MessageError,
  type Tensor,
  type Tensors,
} from '../../src/index.js';
import { jsonInferRequest } from '../../src/open-inference/json-infer-request.js';
import { tensorsOfJsonResponse } from '../../src/open-inference/json-infer-response.js';
import { arbitraryTensors, comparable } from '../support/arbitrary-tensors.js';

/** JSON cannot represent NaN, and strings must be valid UTF-8. */
const JSON_DATATYPES = DATATYPES.filter((datatype) => !/^FP/.test(datatype));

/** A response as a server writes it. */
function responseOf(tensors: Tensors, isBinary: boolean): { body: Buffer; header: string | undefined } {
  const tail: Buffer[] = [];
  const outputs = Array.from(tensors, ([name, tensor]) => {
    const { datatype, shape, data } = tensor;
    const head = `"name":${JSON.stringify(name)},"datatype":"${datatype}","shape":[${shape}]`;
    if (!isBinary) return `{${head},"data":${elementsToJson(tensor, 0, data.length)}}`;
    const bytes = encodeRaw(tensor);
    tail.push(bytes);
    return `{${head},"parameters":{"binary_data_size":${bytes.length}}}`;
  });
  const json = Buffer.from(`{"model_name":"m","outputs":[${outputs}]}`);
  return { body: Buffer.concat([json, ...tail]), header: isBinary ? String(json.length) : undefined };
}

describe('a request over REST', () => {
  test('has its tensors after the JSON, in the same order', () => {
    fc.assert(
      fc.property(arbitraryTensors(), (tensors) => {
        const { headers, body } = jsonInferRequest({
          id: '7',
          inputs: tensors,
          outputs: ['y'],
          isBinary: true,
        });
        const length = jsonLength(body, headers[BINARY_HEADER]) as number;
        const { id, inputs, outputs } = new JsonBody(body.subarray(0, length)).value;
        expect(id).toBe('7');
        expect(outputs).toEqual([{ name: 'y' }]);
        const tail = new BinaryTail(body.subarray(length));
        const read = (inputs as readonly Record<string, never>[]).map((input): [string, Tensor] => {
          const { name, datatype, shape, parameters } = input as never;
          const { binary_data_size: size } = parameters as { binary_data_size: number };
          return [name, decodeRaw(datatype, shape, tail.take(size, 'input'))];
        });
        tail.expectEnd();
        expect(comparable(new Map(read))).toEqual(comparable(tensors));
      }),
    );
  });

  test('has its tensors in the JSON if requested', () => {
    const tensors = new Map<string, Tensor>([
      ['x', { datatype: 'INT64', shape: [2], data: BigInt64Array.of(2n ** 62n, -1n) }],
    ]);
    const { headers, body } = jsonInferRequest({
      id: '7',
      inputs: tensors,
      outputs: undefined,
      isBinary: false,
    });
    expect(headers).toEqual({ 'content-type': 'application/json' });
    expect(body.toString()).toBe(
      '{"id":"7","inputs":[{"name":"x","shape":[2],"datatype":"INT64","data":[4611686018427387904,-1]}]' +
        ',"parameters":{"binary_data_output":false}}',
    );
  });
});

describe('a response over REST', () => {
  test.each([
    ['binary', true, DATATYPES],
    ['JSON', false, JSON_DATATYPES],
  ] as const)('of any tensors is read as it was written: %s', (_, isBinary, datatypes) => {
    fc.assert(
      fc.property(arbitraryTensors(datatypes), (tensors) => {
        const { body, header } = responseOf(tensors, isBinary);
        expect(comparable(tensorsOfJsonResponse(body, header, '7'))).toEqual(comparable(tensors));
      }),
    );
  });

  test.each([
    ['', true],
    ['"id":"7",', true],
    ['"id":"",', true],
    ['"id":null,', true],
    ['"id":"6",', false],
    ['"id":7,', true],
    ['"id":8,', false],
  ])('to another request is rejected: %s', (id, isRight) => {
    // Root cause: responses were not matched to requests. On a connection that is one response behind, a caller got
    // the result of another request.
    const read = () => tensorsOfJsonResponse(Buffer.from(`{${id}"outputs":[]}`), undefined, '7');
    if (isRight) expect(read()).toEqual(new Map());
    else expect(read).toThrow(/id: expected "7", got/);
  });

  test.each([
    ['flat', '[1]'],
    ['nested', `${'['.repeat(20_000)}1${']'.repeat(20_000)}`],
  ])('with more dimensions than any model has is rejected: %s', (_, data) => {
    // Root cause: the number of dimensions was not limited: thousands of them overflowed the stack.
    const text = `{"outputs":[{"name":"y","datatype":"FP32","shape":[${Array(20_000).fill(1)}],"data":${data}}]}`;
    expect(() => tensorsOfJsonResponse(Buffer.from(text), undefined, '7')).toThrow(MessageError);
  });

  test('may be nested as its shape says', () => {
    const body = Buffer.from(
      '{"outputs":[{"name":"y","datatype":"FP32","shape":[2,2],"data":[[1,2],[3,4]]}]}',
    );
    expect(tensorsOfJsonResponse(body, undefined, '7').get('y')?.data).toEqual(Float32Array.of(1, 2, 3, 4));
  });

  test.each([
    ['', /expected a JSON object, got nothing/],
    ['<html>', /expected JSON/],
    ['{}', /outputs: expected an array/],
    ['{"outputs":[{"name":"y"}]}', /outputs\[0\]\.datatype/],
    [
      '{"outputs":[{"name":"y","datatype":"FP32","shape":[1],"data":[null]}]}',
      /outputs\[0\]\.data\[0\].*JSON has no NaN/,
    ],
    ['{"outputs":[{"name":"y","datatype":"FP32","shape":[2],"data":[1]}]}', /expected 2 elements/],
    [
      '{"outputs":[{"name":"y","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}}]}',
      /expected 4 bytes/,
    ],
  ])('that is malformed is rejected: %s', (text, message) => {
    expect(() => tensorsOfJsonResponse(Buffer.from(text), undefined, '7')).toThrow(message);
  });

  test('of any bytes is either read or rejected', () => {
    const damaged = fc
      .tuple(arbitraryTensors(), fc.nat(400), fc.nat(255), fc.nat(400))
      .map(([tensors, at, value, cut]) => {
        const { body, header } = responseOf(tensors, true);
        if (at < body.length) body[at] = value;
        return { body: body.subarray(0, cut), header };
      });
    fc.assert(
      fc.property(damaged, ({ body, header }) => {
        try {
          tensorsOfJsonResponse(body, header, '7');
        } catch (error) {
          expect(error).toBeInstanceOf(MessageError);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
