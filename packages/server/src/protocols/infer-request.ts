/**
 * The inference request of the Open Inference Protocol, version 2, as REST clients send it: a JSON object,
 * and behind it the tensors that it says are binary, in its order.
 */
import type { IncomingHttpHeaders } from 'node:http';
import {
  BINARY_HEADER,
  BinaryTail,
  decodeRaw,
  type InferRequest,
  isJsonObject,
  isLong,
  JsonBody,
  type JsonObject,
  jsonLength,
  type Signature,
  shownValue,
  type Tensor,
  type TensorSpec,
  tensorFromFlatJson,
  tensorFromNestedJson,
} from '@batchwise/runners';
import { type BodyLimits, checkAnswered, DEFAULT_BODY_LIMITS, tensorLimitsOf } from '../body-limits.js';
import { badRequest, RequestError } from '../request-error.js';
import { readingRequest } from '../request-reading.js';
import { checkAllThere, checkDatatype, checkOnce, readShape, specNamed } from '../signature-check.js';
import { countElements } from './count-elements.js';
import { booleanParameter, readParameters, sizeParameter } from './parameters.js';

export interface WantedOutput {
  readonly name: string;
  readonly binary: boolean;
}

export interface InferCall {
  readonly request: InferRequest;
  /** To be repeated in the answer. */
  readonly id: string | undefined;
  /** In the order in which they are to be answered. */
  readonly outputs: readonly WantedOutput[];
}

/** Throws a `RequestError` that says what is wrong and where. Tensors may be views on `bytes`. */
export function parseInferRequest(
  bytes: Buffer,
  headers: IncomingHttpHeaders,
  signature: Signature,
  limits: BodyLimits = DEFAULT_BODY_LIMITS,
): InferCall {
  return readingRequest(() => parsed(bytes, headers, signature, limits));
}

function parsed(
  bytes: Buffer,
  headers: IncomingHttpHeaders,
  signature: Signature,
  limits: BodyLimits,
): InferCall {
  const jsonBytes = jsonLength(bytes, headers[BINARY_HEADER]);
  const json = jsonBytes === undefined ? bytes : bytes.subarray(0, jsonBytes);
  const body = new JsonBody(json, tensorLimitsOf(limits, signature));
  const { inputs, parameters } = body.value;
  // Clients made of models with optional members write null for those that are not there.
  const id = body.value.id ?? undefined;
  const outputs = body.value.outputs ?? undefined;
  if (id !== undefined && typeof id !== 'string') {
    throw badRequest('id', `expected a string, got ${shownValue(id)}.`);
  }
  const binaryOutput = booleanParameter(
    readParameters(parameters, 'parameters'),
    'binary_data_output',
    'parameters',
  );
  const wanted = readOutputs(outputs, signature.outputs, binaryOutput ?? false);
  const tail = jsonBytes === undefined ? undefined : new BinaryTail(bytes.subarray(jsonBytes));
  const tensors = readInputs(body, inputs, signature.inputs, tail, limits);
  tail?.expectEnd();
  const isInJson = (output: string) => wanted.some(({ name, binary }) => name === output && !binary);
  checkAnswered(limits, tensors, signature.outputs, isInJson);
  return {
    request: {
      inputs: tensors,
      outputs: isGiven(outputs) ? wanted.map(({ name }) => name) : undefined,
    },
    id,
    outputs: wanted,
  };
}

function readInputs(
  body: JsonBody,
  inputs: unknown,
  specs: readonly TensorSpec[],
  tail: BinaryTail | undefined,
  limits: BodyLimits,
): Map<string, Tensor> {
  if (!Array.isArray(inputs)) {
    throw badRequest('inputs', `expected an array of inputs, got ${shownValue(inputs)}.`);
  }
  const tensors = new Map<string, Tensor>();
  for (let index = 0; index < inputs.length; index++) {
    const where = `inputs[${index}]`;
    const input: unknown = inputs[index];
    if (!isJsonObject(input)) throw badRequest(where, `expected an object, got ${shownValue(input)}.`);
    const spec = specNamed(readName(input, where), specs, 'input', `${where}.name`);
    checkOnce(tensors, spec.name, 'input', `${where}.name`);
    tensors.set(spec.name, readInput(body, input, index, spec, tail, limits));
  }
  checkAllThere(tensors, specs, 'inputs');
  return tensors;
}

function readInput(
  body: JsonBody,
  input: JsonObject,
  index: number,
  spec: TensorSpec,
  tail: BinaryTail | undefined,
  limits: BodyLimits,
): Tensor {
  const where = `inputs[${index}]`;
  const { datatype } = input;
  checkDatatype(datatype, spec, `${where}.datatype`);
  const shape = readShape(input.shape, spec, `${where}.shape`);
  const elements = countElements(shape, `${where}.shape`);
  const sizeWhere = `${where}.parameters.binary_data_size`;
  const parameters = readParameters(input.parameters, `${where}.parameters`);
  const size = sizeParameter(parameters, 'binary_data_size', `${where}.parameters`);
  if (size !== undefined) {
    if (input.data !== undefined) {
      throw badRequest(where, 'expected either data or parameters.binary_data_size, got both.');
    }
    if (tail === undefined) {
      throw badRequest(
        sizeWhere,
        `expected the header ${BINARY_HEADER} with the length of the JSON, got none.`,
      );
    }
    const bytes = tail.take(size, sizeWhere);
    // Numbers are a view of the bytes; each of these is an object of its own.
    if (datatype === 'BYTES' && Math.min(elements, size / 4) > limits.values) {
      throw tooManyElements(limits.values, sizeWhere);
    }
    return decodeRaw(datatype, shape, bytes, sizeWhere);
  }
  if (!Array.isArray(input.data)) {
    throw badRequest(`${where}.data`, `expected an array, got ${shownValue(input.data)}.`);
  }
  const values = isLong(datatype) ? exactData(body, index) : input.data;
  const tensor = { datatype, shape, elements, place: { root: `${where}.data` } };
  return shape.length > 1 && Array.isArray(values[0])
    ? tensorFromNestedJson(tensor, values, body.length)
    : tensorFromFlatJson(tensor, values);
}

function tooManyElements(most: number, where: string): RequestError {
  const message = `expected at most ${most} elements of BYTES, got more (see server.limits.body_bytes).`;
  return new RequestError('TOO_LARGE', message, { where });
}

/** The same `data` as in `body.value`, so its place is known to exist. */
function exactData(body: JsonBody, index: number): readonly unknown[] {
  const inputs = body.exact.inputs as readonly { readonly data: readonly unknown[] }[];
  return inputs[index]?.data ?? [];
}

function readOutputs(
  outputs: unknown,
  specs: readonly TensorSpec[],
  binaryByDefault: boolean,
): readonly WantedOutput[] {
  if (outputs !== undefined && !Array.isArray(outputs)) {
    throw badRequest('outputs', `expected an array of outputs, got ${shownValue(outputs)}.`);
  }
  if (!isGiven(outputs)) return specs.map(({ name }) => ({ name, binary: binaryByDefault }));
  const wanted = new Map<string, WantedOutput>();
  for (const [index, output] of outputs.entries()) {
    const where = `outputs[${index}]`;
    if (!isJsonObject(output)) throw badRequest(where, `expected an object, got ${shownValue(output)}.`);
    const { name } = specNamed(readName(output, where), specs, 'output', `${where}.name`);
    checkOnce(wanted, name, 'output', `${where}.name`);
    const parameters = readParameters(output.parameters, `${where}.parameters`);
    const binary = booleanParameter(parameters, 'binary_data', `${where}.parameters`);
    wanted.set(name, { name, binary: binary ?? binaryByDefault });
  }
  return [...wanted.values()];
}

/** An empty list asks for nothing in particular, as none does. */
function isGiven(outputs: unknown): outputs is readonly unknown[] {
  return Array.isArray(outputs) && outputs.length > 0;
}

function readName(tensor: JsonObject, where: string): string {
  if (typeof tensor.name !== 'string') {
    throw badRequest(`${where}.name`, `expected a string, got ${shownValue(tensor.name)}.`);
  }
  return tensor.name;
}
