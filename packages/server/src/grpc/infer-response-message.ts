/** What a model gave, as the ModelInferResponse that answers a request. */
import type { Tensor, Tensors } from '@batchwise/runners';
import { MODEL_VERSION } from '../model-lookup.js';
import { encodeRaw } from '../raw-tensor.js';
import { RequestError } from '../request-error.js';
import { quoted } from '../shown-value.js';
import type { InferRequestMessage } from './infer-message.js';
import { isRaw } from './infer-request.js';
import { encodeTyped } from './typed-contents.js';
import { WireWriter, writeVarint } from './wire-writer.js';

/** As the request came: raw or typed, the outputs in its order. Raw too where one of them cannot be typed. */
export function inferResponseMessage(request: InferRequestMessage, results: Tensors): Buffer {
  const response = new WireWriter();
  response.text(1, request.modelName);
  response.text(2, MODEL_VERSION);
  response.text(3, request.id);
  const wanted = wantedOf(request, results);
  const isAnswerRaw = isRaw(request) || wanted.some(([, { datatype }]) => datatype === 'FP16');
  for (const [name, tensor] of wanted) {
    const output = new WireWriter();
    output.text(1, name);
    output.text(2, tensor.datatype);
    output.bytes(3, packedLengths(tensor.shape));
    if (!isAnswerRaw) output.message(5, encodeTyped(tensor));
    response.message(5, output);
  }
  if (isAnswerRaw) for (const [, tensor] of wanted) response.bytes(6, encodeRaw(tensor));
  return response.finish();
}

function wantedOf(request: InferRequestMessage, results: Tensors): readonly (readonly [string, Tensor])[] {
  if (request.outputs.length === 0) return [...results];
  return request.outputs.map((name, index) => {
    const tensor = results.get(name);
    if (tensor) return [name, tensor] as const;
    throw new RequestError('INTERNAL', `the model gave no ${quoted(name)}.`, {
      where: `outputs[${index}].name`,
    });
  });
}

function packedLengths(shape: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(shape.length * 10);
  let at = 0;
  for (const length of shape) at = writeVarint(bytes, at, length, length / 2 ** 32);
  return bytes.subarray(0, at);
}
