/** A ModelInfer message as a runner takes it, checked against what the model says of itself. */
import {
  DATATYPES,
  type Datatype,
  decodeRaw,
  decodeTyped,
  type InferRequest,
  type InferRequestMessage,
  isDatatype,
  quoted,
  type Signature,
  type Tensor,
  type TensorMessage,
  type TensorSpec,
} from '@batchwise/runners';
import { badRequest } from '../request-error.js';
import { readingRequest } from '../request-reading.js';
import {
  checkAllThere,
  checkDatatype,
  checkLength,
  checkOnce,
  readShape,
  specNamed,
} from '../signature-check.js';

export function isRaw(message: InferRequestMessage): boolean {
  return message.rawInputContents.length > 0;
}

/** Without a signature, only what the message says of itself is checked. */
export function inferRequest(message: InferRequestMessage, signature: Signature | undefined): InferRequest {
  checkRaw(message);
  const inputs = new Map<string, Tensor>();
  message.inputs.forEach((input, index) => {
    const where = `inputs[${index}]`;
    const spec = signature && specNamed(input.name, signature.inputs, 'input', `${where}.name`);
    checkOnce(inputs, input.name, 'input', `${where}.name`);
    inputs.set(input.name, inputTensor(message, index, input, spec, where));
  });
  if (signature !== undefined) checkAllThere(inputs, signature.inputs, 'inputs');
  else if (inputs.size === 0) throw badRequest('inputs', 'expected at least one, got none.');
  return { inputs, outputs: requestedOutputs(message, signature) };
}

function checkRaw(message: InferRequestMessage): void {
  if (!isRaw(message)) return;
  const { inputs, rawInputContents } = message;
  if (rawInputContents.length !== inputs.length) {
    throw badRequest(
      'raw_input_contents',
      `expected one for each of ${inputs.length} inputs, got ${rawInputContents.length}.`,
    );
  }
  const mixed = inputs.findIndex(({ contents }) => contents !== undefined && contents.length > 0);
  if (mixed >= 0) {
    throw badRequest(`inputs[${mixed}].contents`, 'expected none beside raw_input_contents, got both.');
  }
}

function inputTensor(
  message: InferRequestMessage,
  index: number,
  input: TensorMessage,
  spec: TensorSpec | undefined,
  where: string,
): Tensor {
  const datatype = datatypeOf(input, spec, `${where}.datatype`);
  const { shape } = input;
  if (spec !== undefined) readShape(shape, spec, `${where}.shape`);
  else for (const [dim, length] of shape.entries()) checkLength(length, `${where}.shape[${dim}]`);
  const raw = message.rawInputContents[index];
  return readingRequest(() =>
    raw === undefined
      ? decodeTyped(datatype, shape, input.contents, `${where}.contents`)
      : decodeRaw(datatype, shape, raw, `raw_input_contents[${index}]`),
  );
}

function datatypeOf({ datatype }: TensorMessage, spec: TensorSpec | undefined, where: string): Datatype {
  if (spec !== undefined) checkDatatype(datatype, spec, where);
  if (isDatatype(datatype)) return datatype;
  throw badRequest(where, `expected one of ${DATATYPES.join(', ')}, got ${quoted(datatype)}.`);
}

function requestedOutputs(
  message: InferRequestMessage,
  signature: Signature | undefined,
): readonly string[] | undefined {
  if (message.outputs.length === 0) return undefined;
  const names = new Set<string>();
  message.outputs.forEach((name, index) => {
    const where = `outputs[${index}].name`;
    if (signature !== undefined) specNamed(name, signature.outputs, 'output', where);
    checkOnce(names, name, 'output', where);
    names.add(name);
  });
  return [...names];
}
