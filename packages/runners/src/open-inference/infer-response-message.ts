/** Reads and writes ModelInferResponse. */
import { elementCount } from '../datatype.js';
import type { Tensor, Tensors } from '../tensor.js';
import type { InferResponseMessage, TensorMessage } from './infer-message.js';
import { malformed } from './message-error.js';
import { decodeRaw, encodeRaw } from './raw-tensor.js';
import { quoted } from './shown-value.js';
import { checkShape, knownDatatype } from './tensor-header.js';
import { checkCount, readTensorMessage, tensorMessage } from './tensor-message.js';
import { decodeTyped, encodeTyped } from './typed-contents.js';
import { FieldBudget, NO_BYTES, textOf, WireReader } from './wire-reader.js';
import { WireWriter } from './wire-writer.js';

/**
 * Maximum number of protobuf fields, and of BYTES elements, in one response. Each of them becomes an object, which
 * takes about half a microsecond. Other elements are limited only by the size of the response.
 */
const MAX_RESPONSE_ELEMENTS = 2 ** 20;

export interface InferResponseFields {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  /** True when the request was raw. The response is also raw when an output has no typed form. */
  readonly isRaw: boolean;
  readonly outputs: readonly (readonly [name: string, tensor: Tensor])[];
}

export function writeInferResponse(answer: InferResponseFields): Buffer {
  const { outputs } = answer;
  const response = new WireWriter();
  response.text(1, answer.modelName);
  response.text(2, answer.modelVersion);
  response.text(3, answer.id);
  const isRaw = answer.isRaw || outputs.some(([, { datatype }]) => datatype === 'FP16');
  for (const [name, tensor] of outputs) {
    const output = tensorMessage(name, tensor.datatype, tensor.shape);
    if (!isRaw) output.message(5, encodeTyped(tensor));
    response.message(5, output);
  }
  if (isRaw) for (const [, tensor] of outputs) response.bytes(6, encodeRaw(tensor));
  return response.finish();
}

export function readInferResponse(bytes: Uint8Array): InferResponseMessage {
  const budget = new FieldBudget(MAX_RESPONSE_ELEMENTS);
  const reader = new WireReader(bytes, 'message', budget);
  const outputs: TensorMessage[] = [];
  const rawOutputContents: Uint8Array[] = [];
  let modelName = NO_BYTES;
  let modelVersion = NO_BYTES;
  let id = NO_BYTES;
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        modelName = reader.bytes();
        break;
      case 2:
        modelVersion = reader.bytes();
        break;
      case 3:
        id = reader.bytes();
        break;
      case 5:
        outputs.push(readTensorMessage(reader.bytes(), `outputs[${outputs.length}]`, budget));
        checkCount('outputs', outputs);
        break;
      case 6:
        rawOutputContents.push(reader.bytes());
        checkCount('raw_output_contents', rawOutputContents);
        break;
      default:
        reader.skip();
    }
  }
  return {
    modelName: textOf(modelName),
    modelVersion: textOf(modelVersion),
    id: textOf(id),
    outputs,
    rawOutputContents,
  };
}

/** Tensors are views of the message where their elements are raw and aligned, and copies otherwise. */
export function tensorsOfResponse({ outputs, rawOutputContents }: InferResponseMessage): Tensors {
  const isRaw = rawOutputContents.length > 0;
  if (isRaw && rawOutputContents.length !== outputs.length) {
    throw malformed(
      'raw_output_contents',
      `expected one for each of ${outputs.length} outputs, got ${rawOutputContents.length}.`,
    );
  }
  const tensors = new Map<string, Tensor>();
  let strings = 0;
  for (const [index, { name, datatype, shape, contents }] of outputs.entries()) {
    const where = `outputs[${index}]`;
    if (tensors.has(name))
      throw malformed(`${where}.name`, `expected unique names, got ${quoted(name)} twice.`);
    const known = knownDatatype(datatype, `${where}.datatype`);
    checkShape(shape, `${where}.shape`);
    if (known === 'BYTES') strings += elementCount(shape);
    if (strings > MAX_RESPONSE_ELEMENTS) {
      throw malformed(
        'outputs',
        `expected at most ${MAX_RESPONSE_ELEMENTS} elements of BYTES, got ${strings}.`,
      );
    }
    tensors.set(
      name,
      isRaw
        ? decodeRaw(known, shape, rawOutputContents[index] as Uint8Array, `raw_output_contents[${index}]`)
        : decodeTyped(known, shape, contents, `${where}.contents`),
    );
  }
  return tensors;
}
