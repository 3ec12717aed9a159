/** The answer to `:predict`: `predictions`, row by row, to `instances`; `outputs`, output by output, to `inputs`. */
import { elementsToJson, quoted, type Signature, type Tensor, type Tensors } from '@batchwise/runners';
import { badRequest } from '../request-error.js';
import { shapeText } from '../signature-check.js';
import type { HttpAnswer } from './http-answer.js';
import { outputNamed } from './infer-response.js';

interface NamedTensor {
  readonly name: string;
  readonly tensor: Tensor;
}

const JSON_HEADERS = { 'content-type': 'application/json' } as const;

/** `rows` as the request has it: undefined for an answer output by output. */
export function formatPredictResponse(
  signature: Signature,
  tensors: Tensors,
  rows: number | undefined,
): HttpAnswer {
  const outputs = signature.outputs.map(({ name }) => ({ name, tensor: outputNamed(tensors, name) }));
  const body =
    rows === undefined ? `{"outputs":${byOutput(outputs)}}` : `{"predictions":${byRow(outputs, rows)}}`;
  return { headers: JSON_HEADERS, body };
}

function byOutput(outputs: readonly NamedTensor[]): string {
  const [only] = outputs;
  if (only !== undefined && outputs.length === 1)
    return nestedJson(only.tensor, 0, 0, only.tensor.data.length);
  return objectJson(outputs, (tensor) => nestedJson(tensor, 0, 0, tensor.data.length));
}

function byRow(outputs: readonly NamedTensor[], rows: number): string {
  for (const { name, tensor } of outputs) {
    if (tensor.shape[0] === rows) continue;
    throw badRequest(
      'instances',
      `expected inputs, because the output ${quoted(name)} has the shape ${shapeText(tensor.shape)} and not one row for each of ${rows}.`,
    );
  }
  const [only] = outputs;
  if (only !== undefined && outputs.length === 1)
    return nestedJson(only.tensor, 0, 0, only.tensor.data.length);
  const texts: string[] = [];
  for (let row = 0; row < rows; row++) {
    texts.push(
      objectJson(outputs, (tensor) => {
        const length = tensor.data.length / rows;
        return nestedJson(tensor, 1, row * length, (row + 1) * length);
      }),
    );
  }
  return `[${texts.join(',')}]`;
}

/** As text, so that an output may have any name. */
function objectJson(outputs: readonly NamedTensor[], text: (tensor: Tensor) => string): string {
  return `{${outputs.map(({ name, tensor }) => `${JSON.stringify(name)}:${text(tensor)}`).join(',')}}`;
}

/** The elements from `start` to `end`, which are those of one index in all dimensions before `level`. */
function nestedJson(tensor: Tensor, level: number, start: number, end: number): string {
  const { shape } = tensor;
  if (level === shape.length) return elementsToJson(tensor, start, end).slice(1, -1);
  if (level === shape.length - 1) return elementsToJson(tensor, start, end);
  const count = shape[level] ?? 0;
  const step = count === 0 ? 0 : (end - start) / count;
  const texts: string[] = [];
  for (let index = 0; index < count; index++) {
    texts.push(nestedJson(tensor, level + 1, start + index * step, start + (index + 1) * step));
  }
  return `[${texts.join(',')}]`;
}
