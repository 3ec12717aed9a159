/** The messages before the first inference request: model readiness, and the model's metadata. */
import type { Signature, TensorSpec } from '../tensor.js';
import { malformed } from './message-error.js';
import { shownValue } from './shown-value.js';
import { knownDatatype } from './tensor-header.js';
import { checkCount, readTensorMessage } from './tensor-message.js';
import { FieldBudget, WIRE_TYPES, WireReader } from './wire-reader.js';
import { WireWriter } from './wire-writer.js';

/** More fields than the metadata of any model has. */
const MAX_FIELDS = 2 ** 16;

/** ModelMetadataRequest and ModelReadyRequest have the same fields. */
export function writeModelRequest(name: string, version: string): Buffer {
  const request = new WireWriter();
  request.text(1, name);
  request.text(2, version);
  return request.finish();
}

/** ModelReadyResponse and ServerReadyResponse: `bool ready = 1`. */
export function readReadyResponse(bytes: Uint8Array): boolean {
  const reader = new WireReader(bytes, 'message', new FieldBudget(MAX_FIELDS));
  let isReady = false;
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === WIRE_TYPES.varint) {
      reader.varint();
      isReady = (reader.low | reader.high) !== 0;
    } else reader.skip();
  }
  return isReady;
}

/** Reads the signature from a ModelMetadataResponse. */
export function readModelMetadata(bytes: Uint8Array): Signature {
  const budget = new FieldBudget(MAX_FIELDS);
  const reader = new WireReader(bytes, 'message', budget);
  const inputs: TensorSpec[] = [];
  const outputs: TensorSpec[] = [];
  while (reader.next()) {
    if (reader.field === 4) pushSpec(inputs, reader, budget, 'inputs');
    else if (reader.field === 5) pushSpec(outputs, reader, budget, 'outputs');
    else reader.skip();
  }
  return completeSignature({ inputs, outputs });
}

/**
 * Reads the signature from the metadata of the REST protocol:
 * `{"inputs": [{"name", "datatype", "shape"}], "outputs": …}`.
 */
export function signatureOfJson(metadata: Readonly<Record<string, unknown>>): Signature {
  const inputs = specsOfJson(metadata.inputs, 'inputs');
  return completeSignature({ inputs, outputs: specsOfJson(metadata.outputs, 'outputs') });
}

function pushSpec(specs: TensorSpec[], reader: WireReader, budget: FieldBudget, where: string): void {
  const at = `${where}[${specs.length}]`;
  const { name, datatype, shape } = readTensorMessage(reader.bytes(), at, budget);
  specs.push(specOf(name, datatype, shape, at));
  checkCount(where, specs);
}

function specsOfJson(list: unknown, where: string): TensorSpec[] {
  if (!Array.isArray(list)) throw malformed(where, `expected an array, got ${shownValue(list)}.`);
  return list.map((entry, index) => {
    const at = `${where}[${index}]`;
    const { name, datatype, shape, content, ...rest } = (entry ?? {}) as Readonly<Record<string, unknown>>;
    // In the metadata of a server these are parameters, which the protocol leaves to extensions.
    const { any_datatype, any_shape } = { ...(rest.parameters as object), ...rest } as typeof rest;
    if (typeof name !== 'string')
      throw malformed(`${at}.name`, `expected a string, got ${shownValue(name)}.`);
    if (!Array.isArray(shape)) throw malformed(`${at}.shape`, `expected an array, got ${shownValue(shape)}.`);
    const spec = specOf(name, datatype, shape.map(lengthOf), at);
    const isJson = content === 'json' && spec.datatype === 'BYTES' && spec.shape.length === 1;
    return {
      ...spec,
      ...(isJson && { content }),
      ...(any_datatype === true && { anyDatatype: true }),
      ...(any_shape === true && { anyShape: true }),
    };
  });
}

/** Some servers write 64-bit integers as strings in JSON. */
function lengthOf(length: unknown): number {
  return typeof length === 'string' && /^-?\d{1,15}$/.test(length) ? Number(length) : (length as number);
}

function specOf(name: string, datatype: unknown, shape: readonly number[], where: string): TensorSpec {
  const wrong = shape.findIndex((length) => !Number.isSafeInteger(length) || length < -1);
  if (wrong >= 0) {
    const got = shownValue(shape[wrong]);
    throw malformed(`${where}.shape[${wrong}]`, `expected a length, or -1 for any, got ${got}.`);
  }
  return { name, datatype: knownDatatype(datatype, `${where}.datatype`), shape };
}

/** A server without the metadata of its model may return empty lists. Requests cannot be built without them. */
function completeSignature(signature: Signature): Signature {
  const { inputs, outputs } = signature;
  if (inputs.length > 0 && outputs.length > 0) return signature;
  const missing = inputs.length === 0 ? 'inputs' : 'outputs';
  throw malformed(missing, 'expected at least one in the metadata of the model, got none.');
}
