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
import { countElements } from '../protocols/count-elements.js';
import { badRequest, RequestError } from '../request-error.js';
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

/**
 * Without a signature, only what the message says of itself is checked. Elements of BYTES are limited for all inputs
 * together: an object is made of each, which costs far more than its bytes.
 */
export function inferRequest(
  message: InferRequestMessage,
  signature: Signature | undefined,
  maxStrings = Number.POSITIVE_INFINITY,
): InferRequest {
  checkRaw(message);
  const inputs = new Map<string, Tensor>();
  let strings = 0;
  message.inputs.forEach((input, index) => {
    const where = `inputs[${index}]`;
    const spec = signature && specNamed(input.name, signature.inputs, 'input', `${where}.name`);
    checkOnce(inputs, input.name, 'input', `${where}.name`);
    const datatype = datatypeOf(input, spec, `${where}.datatype`);
    const elements = elementsOf(input, spec, `${where}.shape`);
    if (datatype === 'BYTES') strings += elements;
    if (strings > maxStrings) {
      const message = `expected at most ${maxStrings} elements of BYTES in a request, got ${strings} (see server.limits.body_bytes).`;
      throw new RequestError('TOO_LARGE', message, { where });
    }
    inputs.set(input.name, inputTensor(message, index, input, datatype));
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
      `expected one entry for each of ${inputs.length} inputs, got ${rawInputContents.length}.`,
    );
  }
  const mixed = inputs.findIndex(({ contents }) => contents !== undefined && contents.length > 0);
  if (mixed >= 0) {
    throw badRequest(
      `inputs[${mixed}].contents`,
      'expected no contents together with raw_input_contents, got both.',
    );
  }
}

function inputTensor(
  message: InferRequestMessage,
  index: number,
  { shape, contents }: TensorMessage,
  datatype: Datatype,
): Tensor {
  const raw = message.rawInputContents[index];
  return readingRequest(() =>
    raw === undefined
      ? decodeTyped(datatype, shape, contents, `inputs[${index}].contents`)
      : decodeRaw(datatype, shape, raw, `raw_input_contents[${index}]`),
  );
}

function elementsOf({ shape }: TensorMessage, spec: TensorSpec | undefined, where: string): number {
  if (spec !== undefined) readShape(shape, spec, where);
  else for (const [dim, length] of shape.entries()) checkLength(length, `${where}[${dim}]`);
  return countElements(shape, where);
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
