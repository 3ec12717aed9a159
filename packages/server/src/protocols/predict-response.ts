/** The answer to `:predict`: `predictions`, row by row, to `instances`; `outputs`, output by output, to `inputs`. */
import { elementsToJson, quoted, type Signature, type Tensor, type Tensors } from '@batchwise/runners';
import { badRequest } from '../request-error.js';
import { shapeText } from '../signature-check.js';
import type { HttpAnswer } from './http-answer.js';
import { outputNamed } from './infer-response.js';
import { jsonArrayOf } from './json-rows.js';

interface NamedTensor {
  readonly name: string;
  readonly tensor: Tensor;
  readonly isJson: boolean;
}

const JSON_HEADERS = { 'content-type': 'application/json' } as const;

/** `rows` as the request has it: undefined for an answer output by output. */
export function formatPredictResponse(
  signature: Signature,
  tensors: Tensors,
  rows: number | undefined,
): HttpAnswer {
  const outputs = signature.outputs.map(({ name, content }) => ({
    name,
    tensor: outputNamed(tensors, name),
    isJson: content === 'json',
  }));
  const body =
    rows === undefined ? `{"outputs":${byOutput(outputs)}}` : `{"predictions":${byRow(outputs, rows)}}`;
  return { headers: JSON_HEADERS, body };
}

function byOutput(outputs: readonly NamedTensor[]): string {
  const [only] = outputs;
  if (only !== undefined && outputs.length === 1) return columnJson(only);
  return objectJson(outputs, columnJson);
}

function columnJson({ tensor, isJson }: NamedTensor): string {
  const { length } = tensor.data;
  return isJson ? jsonArrayOf(tensor, 0, length) : nestedJson(tensor, 0, 0, length);
}

function rowJson({ tensor, isJson }: NamedTensor, row: number, rows: number): string {
  if (isJson) return jsonArrayOf(tensor, row, row + 1).slice(1, -1);
  const length = tensor.data.length / rows;
  return nestedJson(tensor, 1, row * length, (row + 1) * length);
}

function byRow(outputs: readonly NamedTensor[], rows: number): string {
  for (const { name, tensor } of outputs) {
    if (tensor.shape[0] === rows) continue;
    throw badRequest(
      'instances',
      `expected inputs, because the output ${quoted(name)} has the shape ${shapeText(tensor.shape)}, not one row for each of ${rows}.`,
    );
  }
  const [only] = outputs;
  if (only !== undefined && outputs.length === 1) return columnJson(only);
  const texts: string[] = [];
  for (let row = 0; row < rows; row++) {
    texts.push(objectJson(outputs, (output) => rowJson(output, row, rows)));
  }
  return `[${texts.join(',')}]`;
}

/** As text, so that an output may have any name. */
function objectJson(outputs: readonly NamedTensor[], text: (output: NamedTensor) => string): string {
  return `{${outputs.map((output) => `${JSON.stringify(output.name)}:${text(output)}`).join(',')}}`;
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
