/** Checks a request against the signature of the model before the model runs. */
import { BatchwiseError } from 'batchwise';
import { dataName, elementCount, isDataOf, isDatatype } from './datatype.js';
import { quoted, quotedList, shownValue } from './open-inference/shown-value.js';
import type { InferRequest } from './runner.js';
import { MAX_DIMENSIONS } from './spec-of-rows.js';
import type { Signature, Tensor, TensorSpec } from './tensor.js';

/**
 * Returns the number of rows, or 1 if the model does not count rows (`rowDim` is undefined). Throws `INVALID_ITEM` with
 * the location, the expected and the received value.
 */
export function checkRequest(
  signature: Signature,
  rowDim: number | undefined,
  request: InferRequest,
): number {
  const inputs = request?.inputs;
  if (typeof inputs?.get !== 'function') throw invalid('inputs: expected a Map of tensors by name.');
  const specs = signature.inputs;
  let rows = 1;
  for (let i = 0; i < specs.length; i++) {
    const spec = specs[i] as TensorSpec;
    const tensor = inputs.get(spec.name);
    if (tensor === undefined) throw missing(spec, inputs.keys());
    checkTensor(spec, tensor);
    if (rowDim === undefined) continue;
    const own = tensor.shape[rowDim] as number;
    if (own < 1) throw wrong(spec, `at least 1 row along dimension ${rowDim}`, shapeOf(tensor));
    if (i > 0 && own !== rows) {
      const first = quoted((specs[0] as TensorSpec).name);
      throw wrong(spec, `as many rows as input ${first} (${rows})`, `${own}: ${shapeOf(tensor)}`);
    }
    rows = own;
  }
  if (inputs.size !== specs.length) throw unknownInput(signature, inputs.keys());
  if (request.outputs !== undefined) checkOutputs(signature, request.outputs);
  return rows;
}

function checkTensor(spec: TensorSpec, tensor: Tensor): void {
  const { datatype, shape, data } = tensor;
  const isDatatypeRight = spec.anyDatatype ? isDatatype(datatype) : datatype === spec.datatype;
  if (!isDatatypeRight) throw wrong(spec, `datatype ${spec.datatype}`, shownValue(datatype));
  if (!Array.isArray(shape)) throw wrong(spec, 'a shape', typeof shape);
  if (!fits(expectedShape(spec, shape), shape))
    throw wrong(spec, `shape [${spec.shape}]${freeHint(spec)}`, shapeOf(tensor));
  if (!isDataOf(datatype, data)) throw wrong(spec, `data as ${dataName(datatype)}`, kindOf(data));
  const elements = elementCount(shape);
  if (data.length !== elements) {
    throw wrong(spec, `${elements} elements for ${shapeOf(tensor)}`, `${data.length}`);
  }
  if (elements === 0) checkEmpty(spec, tensor);
}

/**
 * A tensor without elements is valid: the first step of a decoder has a cache of length 0. Its other dimensions cost
 * nothing to send, but the response may have elements for each of them, so their product has a limit.
 */
function checkEmpty(spec: TensorSpec, tensor: Tensor): void {
  const expected = expectedShape(spec, tensor.shape);
  let product = 1;
  for (let i = 0; i < expected.length; i++) {
    if (expected[i] === -1) product *= Math.max(1, tensor.shape[i] as number);
  }
  if (product <= MAX_EMPTY) return;
  throw wrong(
    spec,
    `open dimensions with a product of at most ${MAX_EMPTY} in a tensor without elements`,
    shapeOf(tensor),
  );
}

/** An input of any shape has at least one dimension, which counts rows. */
function expectedShape(spec: TensorSpec, shape: readonly number[]): readonly number[] {
  const isAny = spec.anyShape && shape.length > 0 && shape.length <= MAX_DIMENSIONS;
  return isAny ? shape.map(() => -1) : spec.shape;
}

function fits(expected: readonly number[], shape: readonly number[]): boolean {
  if (shape.length !== expected.length) return false;
  for (let i = 0; i < shape.length; i++) {
    const length = shape[i] as number;
    const isRight = expected[i] === -1 ? Number.isSafeInteger(length) && length >= 0 : length === expected[i];
    if (!isRight) return false;
  }
  return true;
}

function checkOutputs({ outputs }: Signature, wanted: readonly string[]): void {
  if (!Array.isArray(wanted)) throw invalid(`outputs: expected a list of names, got ${kindOf(wanted)}.`);
  for (const name of wanted) {
    if (outputs.some((output) => output.name === name)) continue;
    throw invalid(`output ${quoted(name)} is unknown; the outputs of the model are ${namesOf(outputs)}.`);
  }
}

function missing(spec: TensorSpec, given: Iterable<string>): BatchwiseError {
  const names = quotedList(given);
  const expected = `${spec.datatype} of shape [${spec.shape}]`;
  return invalid(
    `input ${quoted(spec.name)} is missing: expected ${expected}, got ${names === '' ? 'no inputs' : `only ${names}`}.`,
  );
}

function unknownInput({ inputs }: Signature, given: Iterable<string>): BatchwiseError {
  for (const name of given) {
    if (inputs.some((input) => input.name === name)) continue;
    return invalid(`input ${quoted(name)} is unknown; the inputs of the model are ${namesOf(inputs)}.`);
  }
  return invalid(`expected ${inputs.length} inputs.`);
}

function wrong({ name }: TensorSpec, expected: string, got: string): BatchwiseError {
  return invalid(`input ${quoted(name)}: expected ${expected}, got ${got}.`);
}

function invalid(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_ITEM', message);
}

function shapeOf({ shape }: Tensor): string {
  const shown = shape.slice(0, MAX_SHOWN_LENGTHS).join(',');
  return `shape [${shown}${shape.length > MAX_SHOWN_LENGTHS ? ',…' : ''}]`;
}

function freeHint({ shape }: TensorSpec): string {
  return shape.includes(-1) ? ' (-1 is any length)' : '';
}

function namesOf(specs: readonly TensorSpec[]): string {
  return quotedList(specs.map(({ name }) => name)) || 'none';
}

function kindOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value === null ? null : typeof value);
  if (Array.isArray(value)) return 'an array';
  return ArrayBuffer.isView(value) ? `a ${value.constructor.name}` : 'an object';
}

/** For a tensor without elements: the maximum product of the open dimensions that are not 0. */
const MAX_EMPTY = 65_536;
const MAX_SHOWN_LENGTHS = 16;
