/**
 * The body of `:predict`, as TensorFlow Serving and KServe's first protocol have it: `instances`, row by
 * row, or `inputs`, input by input.
 */
import {
  type InferRequest,
  isJsonObject,
  isLong,
  JsonBody,
  type JsonObject,
  quoted,
  quotedList,
  type Signature,
  shownValue,
  type Tensor,
  type TensorSpec,
  tensorFromFlatJson,
} from '@batchwise/runners';
import { type BodyLimits, checkAnswered, DEFAULT_BODY_LIMITS, rowLimitsOf } from '../body-limits.js';
import { badRequest } from '../request-error.js';
import { readingRequest } from '../request-reading.js';
import { specNamed } from '../signature-check.js';
import { tensorFromJsonRows } from './json-rows.js';
import { tensorFromRows } from './tensor-from-rows.js';

export interface PredictCall {
  readonly request: InferRequest;
  /** How many rows are to be answered one by one; undefined when the answer is to be output by output. */
  readonly rows: number | undefined;
}

/** Throws a `RequestError` that says what is wrong and where. */
export function parsePredictRequest(
  bytes: Buffer,
  signature: Signature,
  limits: BodyLimits = DEFAULT_BODY_LIMITS,
): PredictCall {
  return readingRequest(() => parsed(bytes, signature, limits));
}

function parsed(bytes: Buffer, signature: Signature, limits: BodyLimits): PredictCall {
  const call = read(bytes, signature, limits);
  checkAnswered(limits, call.request.inputs, signature.outputs, () => true);
  return call;
}

function read(bytes: Buffer, signature: Signature, limits: BodyLimits): PredictCall {
  const body = new JsonBody(bytes, rowLimitsOf(limits, signature));
  const { instances, inputs, signature_name: name } = body.value;
  if (name !== undefined && name !== 'serving_default') {
    throw badRequest(
      'signature_name',
      `expected "serving_default", the only signature of the model, got ${shownValue(name)}.`,
    );
  }
  if (instances !== undefined && inputs !== undefined) {
    throw badRequest('body', 'expected either instances or inputs, got both.');
  }
  if (inputs !== undefined) {
    return { request: { inputs: readColumns(body, inputs, signature.inputs) }, rows: undefined };
  }
  if (!Array.isArray(instances)) {
    throw badRequest('instances', `expected an array of rows, got ${shownValue(instances)}.`);
  }
  if (instances.length === 0) {
    throw badRequest('instances', 'expected at least one row, got an empty array.');
  }
  return { request: { inputs: readRows(body, instances, signature.inputs) }, rows: instances.length };
}

function readRows(
  body: JsonBody,
  instances: readonly unknown[],
  specs: readonly TensorSpec[],
): Map<string, Tensor> {
  for (const { name, shape } of specs) {
    if (shape.length > 0) continue;
    throw badRequest('instances', `expected inputs, because the input ${quoted(name)} is a single value.`);
  }
  const [only] = specs;
  if (only !== undefined && specs.length === 1 && isRowItself(instances[0], only)) {
    if (only.content === 'json')
      return new Map([[only.name, tensorFromJsonRows(instances, { root: 'instances' })]]);
    const rows = isLong(only.datatype) ? (body.exact.instances as readonly unknown[]) : instances;
    return new Map([[only.name, tensorFromRows(rows, only, { root: 'instances' }, body.length)]]);
  }
  for (const [index, instance] of instances.entries()) checkNames(instance, specs, `instances[${index}]`);
  const tensors = new Map<string, Tensor>();
  for (const spec of specs) {
    const source = isLong(spec.datatype) ? body.exact.instances : instances;
    const rows = (source as readonly JsonObject[]).map((instance) => instance[spec.name]);
    const place = { root: 'instances', member: spec.name };
    const tensor =
      spec.content === 'json'
        ? tensorFromJsonRows(rows, place)
        : tensorFromRows(rows, spec, place, body.length);
    tensors.set(spec.name, tensor);
  }
  return tensors;
}

/** A JSON value is the row itself, also if it is an object with the name of the input. */
function isRowItself(row: unknown, only: TensorSpec): boolean {
  return only.content === 'json' || !isByName(row, only);
}

/** A row of a model with one input need not name it, and `{"b64": …}` is a row itself. */
function isByName(row: unknown, only: TensorSpec): boolean {
  return (
    isJsonObject(row) && (only.name === 'b64' || only.datatype !== 'BYTES' || !Object.hasOwn(row, 'b64'))
  );
}

function checkNames(row: unknown, specs: readonly TensorSpec[], where: string): asserts row is JsonObject {
  if (!isJsonObject(row)) {
    const names = quotedList(specs.map(({ name }) => name));
    throw badRequest(where, `expected an object with the inputs ${names}, got ${shownValue(row)}.`);
  }
  for (const name of Object.keys(row)) specNamed(name, specs, 'input', where);
  const missing = specs.filter(({ name }) => !Object.hasOwn(row, name)).map(({ name }) => name);
  if (missing.length > 0) {
    throw badRequest(where, `expected all inputs of the model, got none for ${quotedList(missing)}.`);
  }
}

function readColumns(body: JsonBody, inputs: unknown, specs: readonly TensorSpec[]): Map<string, Tensor> {
  const [only] = specs;
  if (only !== undefined && specs.length === 1 && !isByName(inputs, only)) {
    const value = isLong(only.datatype) ? body.exact.inputs : inputs;
    return new Map([[only.name, readColumn(value, only, 'inputs', body.length)]]);
  }
  checkNames(inputs, specs, 'inputs');
  const tensors = new Map<string, Tensor>();
  for (const spec of specs) {
    const source = isLong(spec.datatype) ? (body.exact.inputs as JsonObject) : inputs;
    tensors.set(spec.name, readColumn(source[spec.name], spec, `inputs.${spec.name}`, body.length));
  }
  return tensors;
}

function readColumn(value: unknown, spec: TensorSpec, where: string, most: number): Tensor {
  const { datatype, shape } = spec;
  if (shape.length === 0) {
    return tensorFromFlatJson({ datatype, shape, elements: 1, place: { root: where } }, [value]);
  }
  if (!Array.isArray(value)) {
    throw badRequest(where, `expected an array, got ${shownValue(value)}.`);
  }
  if (spec.content === 'json') return tensorFromJsonRows(value, { root: where });
  return tensorFromRows(value, spec, { root: where }, most);
}
