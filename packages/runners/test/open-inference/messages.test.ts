import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  DATATYPES,
  decodeRaw,
  MessageError,
  readInferRequest,
  readInferResponse,
  type Tensor,
  tensorsOfResponse,
  writeInferRequest,
  writeInferResponse,
} from '../../src/index.js';
import {
  readModelMetadata,
  readReadyResponse,
  signatureOfJson,
  writeModelRequest,
} from '../../src/open-inference/metadata-message.js';
import { tensorMessage } from '../../src/open-inference/tensor-message.js';
import { WireWriter } from '../../src/open-inference/wire-writer.js';
import { arbitraryTensors, comparable } from '../support/arbitrary-tensors.js';

const TYPED = DATATYPES.filter((datatype) => datatype !== 'FP16');

describe('a request', () => {
  test('of any tensors is read as it was written, wherever it begins', () => {
    const requestFields = fc.record({
      modelName: fc.string(),
      modelVersion: fc.string(),
      id: fc.string(),
      inputs: arbitraryTensors(),
      outputs: fc.option(fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 3 }), {
        nil: undefined,
      }),
    });
    fc.assert(
      fc.property(requestFields, fc.nat(9), (fields, headroom) => {
        const message = readInferRequest(writeInferRequest(fields, headroom).subarray(headroom));
        expect(message).toMatchObject({
          modelName: fields.modelName,
          modelVersion: fields.modelVersion,
          id: fields.id,
          outputs: fields.outputs ?? [],
        });
        const inputs = message.inputs.map(({ name, datatype, shape }, index): [string, Tensor] => [
          name,
          decodeRaw(datatype as 'FP32', shape, message.rawInputContents[index] as Uint8Array),
        ]);
        expect(comparable(new Map(inputs))).toEqual(comparable(fields.inputs));
      }),
    );
  });
});

describe('a response', () => {
  test.each([
    ['raw', true, DATATYPES],
    ['typed', false, TYPED],
    ['typed, with FP16 among them', false, DATATYPES],
  ] as const)('of any tensors is read as it was written: %s', (_, isRaw, datatypes) => {
    fc.assert(
      fc.property(arbitraryTensors(datatypes), (tensors) => {
        const answer = { modelName: 'm', modelVersion: '1', id: 'i', isRaw, outputs: [...tensors] };
        const message = readInferResponse(writeInferResponse(answer));
        expect(message).toMatchObject({ modelName: 'm', modelVersion: '1', id: 'i' });
        expect(comparable(tensorsOfResponse(message))).toEqual(comparable(tensors));
      }),
    );
  });

  test('that is aligned is not copied', () => {
    const data = Float32Array.of(1, 2, 3, 4);
    const outputs: [string, Tensor][] = [['y', { datatype: 'FP32', shape: [4], data }]];
    const bytes = writeInferResponse({ modelName: 'm', modelVersion: '', id: '', isRaw: true, outputs });
    const at = bytes.indexOf(Buffer.from(data.buffer));
    const aligned = new Uint8Array(new ArrayBuffer(bytes.length + 8), (8 - (at % 8)) % 8, bytes.length);
    aligned.set(bytes);
    const { data: read } = tensorsOfResponse(readInferResponse(aligned)).get('y') as Tensor;
    expect((read as Float32Array).buffer).toBe(aligned.buffer);
    expect(read).toEqual(data);
  });

  test('of any bytes is either read or rejected', () => {
    const valid = arbitraryTensors().map((tensors) =>
      writeInferResponse({ modelName: 'm', modelVersion: '1', id: '', isRaw: true, outputs: [...tensors] }),
    );
    const damaged = fc
      .tuple(valid, fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 4 }), fc.nat(300))
      .map(([bytes, changes, length]) => {
        for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
        return bytes.subarray(0, length);
      });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 80 }), damaged), (bytes) => {
        try {
          tensorsOfResponse(readInferResponse(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(MessageError);
        }
      }),
      { numRuns: 1000 },
    );
  });

  const outputOf = (name: string, datatype: string, shape: readonly number[]) => {
    const response = new WireWriter();
    response.message(5, tensorMessage(name, datatype, shape));
    return response;
  };

  test.each<[string, WireWriter, RegExp]>([
    [
      'an unknown datatype',
      outputOf('y', 'BF16', [1]),
      /outputs\[0\]\.datatype: expected one of BOOL.*"BF16"/,
    ],
    ['an invalid length', outputOf('y', 'FP32', [-1]), /outputs\[0\]\.shape: expected whole numbers/],
    ['too many elements', outputOf('y', 'FP32', [2 ** 40, 2 ** 40]), /outputs\[0\]\.shape/],
    ['fewer elements than its shape says', outputOf('y', 'FP32', [2]), /expected 2 elements/],
  ])('with %s is rejected', (_, response, message) => {
    expect(() => tensorsOfResponse(readInferResponse(response.finish()))).toThrow(message);
  });

  test('with another number of raw contents than of outputs is rejected', () => {
    const response = outputOf('y', 'FP32', [1]);
    response.bytes(6, new Uint8Array(4));
    response.bytes(6, new Uint8Array(4));
    expect(() => tensorsOfResponse(readInferResponse(response.finish()))).toThrow(
      'raw_output_contents: expected one for each of 1 outputs, got 2.',
    );
  });
});

describe('metadata', () => {
  const SIGNATURE = {
    inputs: [{ name: 'ids', datatype: 'INT64', shape: [-1, 64] }],
    outputs: [{ name: 'y', datatype: 'FP32', shape: [-1] }],
  } as const;

  test('are read from a message, with open lengths', () => {
    const message = new WireWriter();
    message.text(1, 'm');
    message.text(2, '1');
    message.text(3, 'pytorch');
    for (const { name, datatype, shape } of SIGNATURE.inputs)
      message.message(4, tensorMessage(name, datatype, shape));
    for (const { name, datatype, shape } of SIGNATURE.outputs)
      message.message(5, tensorMessage(name, datatype, shape));
    expect(readModelMetadata(message.finish())).toEqual(SIGNATURE);
  });

  test('are read from JSON, with lengths as strings', () => {
    const texts = { ...SIGNATURE, inputs: [{ name: 'ids', datatype: 'INT64', shape: ['-1', '64'] }] };
    expect(signatureOfJson(texts)).toEqual(SIGNATURE);
  });

  test.each([
    [{}, /inputs: expected an array, got nothing/],
    [{ inputs: [], outputs: [] }, /inputs: expected at least one/],
    [{ inputs: [null], outputs: [] }, /inputs\[0\]\.name: expected a string/],
    [
      { ...SIGNATURE, outputs: [{ name: 'y', datatype: 'FP32', shape: [-2] }] },
      /shape\[0\]: expected a length/,
    ],
  ])('that are incomplete are rejected: %j', (metadata, message) => {
    expect(() => signatureOfJson(metadata)).toThrow(message);
  });

  test('of any bytes are read or rejected', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        for (const read of [readModelMetadata, readReadyResponse]) {
          try {
            read(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(MessageError);
          }
        }
      }),
    );
  });

  test('are requested by name and version', () => {
    expect(writeModelRequest('m', '').toString('hex')).toBe('0a016d');
    expect(writeModelRequest('m', '1').toString('hex')).toBe('0a016d120131');
  });

  test('contain the readiness of the model', () => {
    expect(readReadyResponse(Buffer.from('0801', 'hex'))).toBe(true);
    expect(readReadyResponse(Buffer.from('0800', 'hex'))).toBe(false);
    expect(readReadyResponse(Buffer.alloc(0))).toBe(false);
  });
});
