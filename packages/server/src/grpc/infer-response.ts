/** What a model gave, as the message that answers a request: raw or typed as that came, the outputs in its order. */
import {
  type InferRequestMessage,
  quoted,
  type Tensor,
  type Tensors,
  writeInferResponse,
} from '@batchwise/runners';
import { MODEL_VERSION } from '../model-lookup.js';
import { RequestError } from '../request-error.js';
import { isRaw } from './infer-request.js';

export function inferResponse(request: InferRequestMessage, results: Tensors): Buffer {
  const { modelName, id } = request;
  const outputs = wantedOf(request, results);
  return writeInferResponse({ modelName, modelVersion: MODEL_VERSION, id, isRaw: isRaw(request), outputs });
}

function wantedOf(request: InferRequestMessage, results: Tensors): readonly (readonly [string, Tensor])[] {
  if (request.outputs.length === 0) return [...results];
  return request.outputs.map((name, index) => {
    const tensor = results.get(name);
    if (tensor) return [name, tensor] as const;
    throw new RequestError('INTERNAL', `the model returned no output ${quoted(name)}.`, {
      where: `outputs[${index}].name`,
    });
  });
}
