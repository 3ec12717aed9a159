import { DATATYPES, type Datatype, float16Value, type Tensor, type TensorData } from '@batchwise/runners';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseInferRequest } from '../../src/protocols/infer-request.js';
import { formatInferResponse } from '../../src/protocols/infer-response.js';
import { parsePredictRequest } from '../../src/protocols/predict-request.js';
import { formatPredictResponse } from '../../src/protocols/predict-response.js';
import { echoSignature, spec } from './signatures.js';

/** JSON has no NaN, and writes no negative zero. */
type Form = 'json' | 'binary';

function elements(datatype: Datatype, form: Form, count: number): fc.Arbitrary<TensorData> {
  const many = <T>(one: fc.Arbitrary<T>) => fc.array(one, { minLength: count, maxLength: count });
  const finite = { noNaN: form === 'json', noDefaultInfinity: form === 'json' };
  const positiveZero = (value: number) => (form === 'json' && value === 0 ? 0 : value);
  switch (datatype) {
    case 'BOOL':
      return many(fc.nat(1)).map((values) => Uint8Array.from(values));
    case 'UINT8':
      return many(fc.nat(255)).map((values) => Uint8Array.from(values));
    case 'UINT16':
      return many(fc.nat(65535)).map((values) => Uint16Array.from(values));
    case 'UINT32':
      return many(fc.nat(0xffffffff)).map((values) => Uint32Array.from(values));
    case 'UINT64':
      return many(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })).map((values) => BigUint64Array.from(values));
    case 'INT8':
      return many(fc.integer({ min: -128, max: 127 })).map((values) => Int8Array.from(values));
    case 'INT16':
      return many(fc.integer({ min: -32768, max: 32767 })).map((values) => Int16Array.from(values));
    case 'INT32':
      return many(fc.integer()).map((values) => Int32Array.from(values));
    case 'INT64':
      return many(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })).map((values) =>
        BigInt64Array.from(values),
      );
    case 'FP16':
      return many(
        fc.nat(0xffff).map((bits) => {
          const number = float16Value(bits);
          return form === 'json' && (!Number.isFinite(number) || number === 0) ? 0 : bits;
        }),
      ).map((values) => Uint16Array.from(values));
    case 'FP32':
      return many(fc.float(finite).map(positiveZero)).map((values) => Float32Array.from(values));
    case 'FP64':
      return many(fc.double(finite).map(positiveZero)).map((values) => Float64Array.from(values));
    case 'BYTES':
      return many(
        fc.oneof(
          fc.uint8Array({ maxLength: 9 }),
          fc.string().map((text) => Buffer.from(text)),
        ),
      ).map((texts) => texts.map((text) => Uint8Array.from(text)));
  }
}

function tensors(datatype: Datatype, form: Form): fc.Arbitrary<Tensor> {
  return fc
    .tuple(fc.integer({ min: 1, max: 4 }), fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }))
    .chain(([rows, rest]) => {
      const shape = [rows, ...rest];
      const count = shape.reduce((product, length) => product * length, 1);
      return elements(datatype, form, count).map((data) => ({ datatype, shape, data }));
    });
}

function plain({ datatype, shape, data }: Tensor): unknown {
  return {
    datatype,
    shape: [...shape],
    data: ArrayBuffer.isView(data) ? data : data.map((text) => [...text]),
  };
}

/** Answers with the tensors, and sends the answer back as a request. */
function thereAndBack(given: readonly Tensor[], forms: readonly Form[], offset: number): unknown[] {
  const inputs = given.map(({ datatype, shape }, index) =>
    spec(
      `t${index}`,
      datatype,
      shape.map(() => -1),
    ),
  );
  const outputs = inputs.map(({ name }, index) => ({ name, binary: forms[index] === 'binary' }));
  const answered = formatInferResponse(
    { model: 'm', id: 'i', outputs },
    new Map(given.map((tensor, index) => [`t${index}`, tensor])),
  );
  const jsonLength = answered.headers['inference-header-content-length'];
  const bytes = Buffer.from(answered.body as Buffer);
  const json = bytes.subarray(0, jsonLength === undefined ? bytes.length : Number(jsonLength));
  const text = json.toString().replace('"outputs":', '"inputs":');
  const head = Buffer.from(text);
  const memory = Buffer.from(new ArrayBuffer(offset + head.length + bytes.length - json.length)).subarray(
    offset,
  );
  head.copy(memory);
  bytes.subarray(json.length).copy(memory, head.length);
  const call = parseInferRequest(
    memory,
    jsonLength === undefined ? {} : { 'inference-header-content-length': String(head.length) },
    { inputs, outputs: [] },
  );
  return [...call.request.inputs.values()].map(plain);
}

describe('what is written as a v2 answer reads as the same tensors', () => {
  test.each(DATATYPES.flatMap((datatype) => [[datatype, 'json'] as const, [datatype, 'binary'] as const]))(
    '%s in %s',
    (datatype, form) => {
      fc.assert(
        fc.property(tensors(datatype, form), fc.nat(15), (tensor, offset) => {
          expect(thereAndBack([tensor], [form], offset)).toEqual([plain(tensor)]);
        }),
        { numRuns: 60 },
      );
    },
  );

  test('several in one answer, some of them binary, wherever they come to lie', () => {
    const one = fc
      .constantFrom<Form>('json', 'binary')
      .chain((form) =>
        fc
          .constantFrom(...DATATYPES)
          .chain((datatype) => tensors(datatype, form).map((tensor) => ({ tensor, form }))),
      );
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 5 }), fc.nat(15), (given, offset) => {
        const sent = given.map(({ tensor }) => tensor);
        const forms = given.map(({ form }) => form);
        expect(thereAndBack(sent, forms, offset)).toEqual(sent.map(plain));
      }),
    );
  });
});

describe('what is sent to :predict comes back from a model that echoes', () => {
  test.each(DATATYPES)('%s, in rows and in columns, of one input and of two', (datatype) => {
    const nonEmpty = tensors(datatype, 'json').filter(({ shape }) => !shape.includes(0));
    fc.assert(
      fc.property(nonEmpty, fc.boolean(), fc.boolean(), (tensor, inRows, isOne) => {
        const unknown = tensor.shape.map(() => -1);
        const names = isOne ? ['x'] : ['x', '__proto__'];
        const signature = echoSignature(...names.map((name) => spec(name, datatype, unknown)));
        const answer = formatPredictResponse(
          { inputs: [], outputs: signature.inputs },
          new Map(names.map((name) => [name, tensor])),
          inRows ? tensor.shape[0] : undefined,
        );
        const request = String(answer.body).replace(
          /^\{"(predictions|outputs)":/,
          inRows ? '{"instances":' : '{"inputs":',
        );
        const call = parsePredictRequest(Buffer.from(request), signature);
        expect(call.rows).toBe(inRows ? tensor.shape[0] : undefined);
        for (const name of names) {
          expect(plain(call.request.inputs.get(name) as Tensor)).toEqual(plain(tensor));
        }
      }),
      { numRuns: 40 },
    );
  });
});
