/** A ModelInfer message as a runner takes it, checked against what the model says of itself. */
import {
  DATATYPES,
  type Datatype,
  type InferRequest,
  isDatatype,
  type Signature,
  type Tensor,
  type TensorSpec,
} from '@batchwise/runners';
import { decodeRaw } from '../raw-tensor.js';
import { badRequest } from '../request-error.js';
import type { InferRequestMessage, InputTensorMessage } from './infer-message.js';
import { quoted, quotedList } from './quoted.js';
import { decodeTyped } from './typed-contents.js';

export function isRaw(message: InferRequestMessage): boolean {
  return message.rawInputContents.length > 0;
}

/** Without a signature, only what the message says of itself is checked. */
export function inferRequest(message: InferRequestMessage, signature: Signature | undefined): InferRequest {
  checkRaw(message);
  const specs = signature && byName(signature.inputs);
  if (message.inputs.length === 0 && specs?.size !== 0) {
    throw badRequest('inputs', `expected ${specs ? quotedList(specs.keys()) : 'at least one'}, got none.`);
  }
  const inputs = new Map<string, Tensor>();
  message.inputs.forEach((input, index) => {
    const where = `inputs[${index}]`;
    if (inputs.has(input.name)) throw badRequest(`${where}.name`, `${quoted(input.name)} is there twice.`);
    inputs.set(input.name, inputTensor(message, index, input, specs, where));
  });
  if (specs) {
    const missing = [...specs.keys()].filter((name) => !inputs.has(name));
    if (missing.length > 0)
      throw badRequest('inputs', `expected ${quotedList(specs.keys())}, got no ${quotedList(missing)}.`);
  }
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
  input: InputTensorMessage,
  specs: ReadonlyMap<string, TensorSpec> | undefined,
  where: string,
): Tensor {
  const { datatype } = input;
  if (!isDatatype(datatype)) {
    throw badRequest(
      `${where}.datatype`,
      `expected one of ${DATATYPES.join(', ')}, got ${quoted(datatype)}.`,
    );
  }
  const { shape } = input;
  checkShape(shape, `${where}.shape`);
  if (specs) checkSpec(specs, input.name, datatype, shape, where);
  const raw = message.rawInputContents[index];
  return raw === undefined
    ? decodeTyped(datatype, shape, input.contents, `${where}.contents`)
    : decodeRaw(datatype, shape, raw, `raw_input_contents[${index}]`);
}

function checkShape(shape: readonly number[], where: string): void {
  const wrong = shape.findIndex((length) => length < 0 || !Number.isSafeInteger(length));
  if (wrong >= 0) throw badRequest(`${where}[${wrong}]`, `expected a length from 0, got ${shape[wrong]}.`);
}

function checkSpec(
  specs: ReadonlyMap<string, TensorSpec>,
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  where: string,
): void {
  const spec = specs.get(name);
  if (!spec) {
    throw badRequest(
      `${where}.name`,
      `the model has no input ${quoted(name)}; expected ${quotedList(specs.keys())}.`,
    );
  }
  if (datatype !== spec.datatype) {
    throw badRequest(`${where}.datatype`, `expected ${spec.datatype} for ${quoted(name)}, got ${datatype}.`);
  }
  if (!fits(shape, spec.shape)) {
    throw badRequest(
      `${where}.shape`,
      `expected [${spec.shape}] for ${quoted(name)}, where -1 is any length, got ${shapeText(shape)}.`,
    );
  }
}

function fits(shape: readonly number[], spec: readonly number[]): boolean {
  return shape.length === spec.length && spec.every((length, index) => length < 0 || length === shape[index]);
}

function shapeText(shape: readonly number[]): string {
  return shape.length > 16 ? `${shape.length} dimensions` : `[${shape}]`;
}

function requestedOutputs(
  message: InferRequestMessage,
  signature: Signature | undefined,
): readonly string[] | undefined {
  if (message.outputs.length === 0) return undefined;
  const known = signature && byName(signature.outputs);
  const names = new Set<string>();
  message.outputs.forEach((name, index) => {
    const where = `outputs[${index}]`;
    if (known && !known.has(name)) {
      throw badRequest(
        `${where}.name`,
        `the model has no output ${quoted(name)}; expected some of ${quotedList(known.keys())}.`,
      );
    }
    if (names.has(name)) throw badRequest(`${where}.name`, `${quoted(name)} is there twice.`);
    names.add(name);
  });
  return [...names];
}

function byName(specs: readonly TensorSpec[]): ReadonlyMap<string, TensorSpec> {
  return new Map(specs.map((spec) => [spec.name, spec]));
}
