/** Writes the REST inference request of a client: tensors in the JSON, or binary after it. */
import type { Tensor, Tensors } from '../tensor.js';
import { BINARY_HEADER } from './binary-tail.js';
import { elementsToJson } from './elements-to-json.js';
import { encodeRaw } from './raw-tensor.js';

export interface HttpMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface JsonInferRequestFields {
  /** Identifies the response. */
  readonly id: string;
  readonly inputs: Tensors;
  /** The requested outputs. Undefined: all outputs. */
  readonly outputs: readonly string[] | undefined;
  readonly isBinary: boolean;
}

export function jsonInferRequest({ id, inputs, outputs, isBinary }: JsonInferRequestFields): HttpMessage {
  const tail: Buffer[] = [];
  const texts: string[] = [];
  for (const [name, tensor] of inputs) texts.push(inputText(name, tensor, isBinary ? tail : undefined));
  const wanted = outputs?.map((name) => `{"name":${JSON.stringify(name)}}`).join(',');
  const json =
    `{"id":${JSON.stringify(id)},"inputs":[${texts.join(',')}]${wanted === undefined ? '' : `,"outputs":[${wanted}]`}` +
    `,"parameters":{"binary_data_output":${isBinary}}}`;
  const head = Buffer.from(json, 'utf8');
  if (!isBinary) return { headers: { 'content-type': 'application/json' }, body: head };
  return {
    headers: { 'content-type': 'application/octet-stream', [BINARY_HEADER]: String(head.length) },
    body: Buffer.concat([head, ...tail]),
  };
}

function inputText(name: string, tensor: Tensor, tail: Buffer[] | undefined): string {
  const { datatype, shape, data } = tensor;
  const head = `"name":${JSON.stringify(name)},"shape":[${shape.join(',')}],"datatype":"${datatype}"`;
  if (tail === undefined) return `{${head},"data":${elementsToJson(tensor, 0, data.length)}}`;
  const bytes = encodeRaw(tensor);
  tail.push(bytes);
  return `{${head},"parameters":{"binary_data_size":${bytes.length}}}`;
}
