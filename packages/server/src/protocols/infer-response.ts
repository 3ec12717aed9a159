/** The inference response of the Open Inference Protocol, version 2: each output in JSON or as binary, as it was asked for. */
import {
  BINARY_HEADER,
  countNonFinite,
  elementsToJson,
  encodeRaw,
  quoted,
  type Tensor,
  type Tensors,
} from '@batchwise/runners';
import { MODEL_VERSION } from '../model-lookup.js';
import { RequestError } from '../request-error.js';
import type { HttpAnswer } from './http-answer.js';
import type { WantedOutput } from './infer-request.js';

export interface InferResponse {
  readonly model: string;
  readonly id: string | undefined;
  readonly outputs: readonly WantedOutput[];
}

const JSON_HEADERS = { 'content-type': 'application/json' } as const;

export function formatInferResponse(response: InferResponse, tensors: Tensors): HttpAnswer {
  const binary: Buffer[] = [];
  const outputs = response.outputs.map((wanted) =>
    outputText(wanted.name, outputNamed(tensors, wanted.name), wanted.binary ? binary : undefined),
  );
  const id = response.id === undefined ? '' : `"id":${JSON.stringify(response.id)},`;
  const model = `"model_name":${JSON.stringify(response.model)},"model_version":"${MODEL_VERSION}"`;
  const json = `{${model},${id}"outputs":[${outputs.join(',')}]}`;
  if (!response.outputs.some((wanted) => wanted.binary)) return { headers: JSON_HEADERS, body: json };

  const head = Buffer.from(json, 'utf8');
  return {
    headers: { 'content-type': 'application/octet-stream', [BINARY_HEADER]: String(head.length) },
    body: Buffer.concat([head, ...binary]),
  };
}

export function outputNamed(tensors: Tensors, name: string): Tensor {
  const tensor = tensors.get(name);
  if (tensor === undefined) {
    throw new RequestError('INTERNAL', `The model returned no output ${quoted(name)}.`);
  }
  return tensor;
}

/** Adds the bytes to `binary` where there is one. */
function outputText(name: string, tensor: Tensor, binary: Buffer[] | undefined): string {
  const { datatype, shape, data } = tensor;
  const head = `"name":${JSON.stringify(name)},"shape":[${shape.join(',')}],"datatype":"${datatype}"`;
  if (binary !== undefined) {
    const bytes = encodeRaw(tensor);
    binary.push(bytes);
    return `{${head},"parameters":{"binary_data_size":${bytes.length}}}`;
  }
  const nonFinite = countNonFinite(tensor);
  const parameters = nonFinite === 0 ? '' : `"parameters":{"non_finite":${nonFinite}},`;
  return `{${head},${parameters}"data":${elementsToJson(tensor, 0, data.length)}}`;
}
