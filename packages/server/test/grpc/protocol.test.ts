import type { MessageTypeDefinition } from '@grpc/proto-loader';
import { describe, expect, test } from 'vitest';
import { packages } from './support/inference-client.js';

interface Descriptor {
  readonly field: readonly { readonly name: string; readonly number: number }[];
  readonly nestedType: readonly (Descriptor & { readonly name: string })[];
}

function numbersOf({ field }: Descriptor): Record<string, number> {
  return Object.fromEntries(field.map(({ name, number }) => [name, number]));
}

function descriptorOf(name: string, nested?: string): Descriptor {
  const outer = (packages[name] as MessageTypeDefinition<object, object>).type as unknown as Descriptor;
  if (nested === undefined) return outer;
  return outer.nestedType.find((type) => type.name === nested) as Descriptor;
}

describe('the fields have the numbers that clients of the protocol send', () => {
  test.each([
    ['inference.ServerLiveResponse', undefined, { live: 1 }],
    ['inference.ServerReadyResponse', undefined, { ready: 1 }],
    ['inference.ModelReadyRequest', undefined, { name: 1, version: 2 }],
    ['inference.ModelReadyResponse', undefined, { ready: 1 }],
    ['inference.ServerMetadataResponse', undefined, { name: 1, version: 2, extensions: 3 }],
    ['inference.ModelMetadataRequest', undefined, { name: 1, version: 2 }],
    [
      'inference.ModelMetadataResponse',
      undefined,
      { name: 1, versions: 2, platform: 3, inputs: 4, outputs: 5 },
    ],
    ['inference.ModelMetadataResponse', 'TensorMetadata', { name: 1, datatype: 2, shape: 3 }],
    [
      'inference.InferParameter',
      undefined,
      { bool_param: 1, int64_param: 2, string_param: 3, double_param: 4, uint64_param: 5 },
    ],
    [
      'inference.InferTensorContents',
      undefined,
      {
        bool_contents: 1,
        int_contents: 2,
        int64_contents: 3,
        uint_contents: 4,
        uint64_contents: 5,
        fp32_contents: 6,
        fp64_contents: 7,
        bytes_contents: 8,
      },
    ],
    [
      'inference.ModelInferRequest',
      undefined,
      {
        model_name: 1,
        model_version: 2,
        id: 3,
        parameters: 4,
        inputs: 5,
        outputs: 6,
        raw_input_contents: 7,
      },
    ],
    [
      'inference.ModelInferRequest',
      'InferInputTensor',
      { name: 1, datatype: 2, shape: 3, parameters: 4, contents: 5 },
    ],
    ['inference.ModelInferRequest', 'InferRequestedOutputTensor', { name: 1, parameters: 2 }],
    [
      'inference.ModelInferResponse',
      undefined,
      { model_name: 1, model_version: 2, id: 3, parameters: 4, outputs: 5, raw_output_contents: 6 },
    ],
    [
      'inference.ModelInferResponse',
      'InferOutputTensor',
      { name: 1, datatype: 2, shape: 3, parameters: 4, contents: 5 },
    ],
    ['grpc.health.v1.HealthCheckRequest', undefined, { service: 1 }],
    ['grpc.health.v1.HealthCheckResponse', undefined, { status: 1 }],
  ])('%s %s', (name, nested, numbers) => {
    expect(numbersOf(descriptorOf(name, nested))).toEqual(numbers);
  });
});
