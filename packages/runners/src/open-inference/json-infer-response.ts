/** Reads the REST inference response in a client. A server may answer in JSON although binary was requested. */
import { elementCount } from '../datatype.js';
import type { Tensor, Tensors } from '../tensor.js';
import { BinaryTail, jsonLength } from './binary-tail.js';
import { isLong } from './elements-from-json.js';
import { isJsonObject, JsonBody } from './json-body.js';
import { malformed } from './message-error.js';
import { decodeRaw } from './raw-tensor.js';
import { quoted, shownValue } from './shown-value.js';
import { tensorFromFlatJson, tensorFromNestedJson } from './tensor-from-json.js';
import { checkShape, knownDatatype } from './tensor-header.js';

/**
 * Throws a `MessageError` with the location of an invalid value. A response to another request than `requestId` is also
 * invalid: it shows that the server mixes up the responses of a connection. Tensors may be views of `bytes`.
 */
export function tensorsOfJsonResponse(
  bytes: Buffer,
  binaryHeader: string | string[] | undefined,
  requestId: string,
): Tensors {
  const jsonBytes = jsonLength(bytes, binaryHeader);
  const body = new JsonBody(jsonBytes === undefined ? bytes : bytes.subarray(0, jsonBytes));
  const tail = new BinaryTail(
    jsonBytes === undefined ? bytes.subarray(bytes.length) : bytes.subarray(jsonBytes),
  );
  const { id, outputs } = body.value;
  if (id !== undefined && id !== null && id !== '' && String(id) !== requestId)
    throw malformed('id', `expected ${quoted(requestId)}, got ${shownValue(id)}.`);
  if (!Array.isArray(outputs)) throw malformed('outputs', `expected an array, got ${shownValue(outputs)}.`);
  const tensors = new Map<string, Tensor>();
  for (const [index, output] of outputs.entries()) {
    const where = `outputs[${index}]`;
    if (!isJsonObject(output)) throw malformed(where, `expected an object, got ${shownValue(output)}.`);
    const { name } = output;
    if (typeof name !== 'string')
      throw malformed(`${where}.name`, `expected a string, got ${shownValue(name)}.`);
    if (tensors.has(name))
      throw malformed(`${where}.name`, `expected unique names, got ${quoted(name)} twice.`);
    tensors.set(name, readOutput(body, output, index, tail));
  }
  tail.expectEnd('outputs');
  return tensors;
}

function readOutput(
  body: JsonBody,
  output: Readonly<Record<string, unknown>>,
  index: number,
  tail: BinaryTail,
): Tensor {
  const where = `outputs[${index}]`;
  const datatype = knownDatatype(output.datatype, `${where}.datatype`);
  const { shape } = output;
  if (!Array.isArray(shape))
    throw malformed(`${where}.shape`, `expected an array, got ${shownValue(shape)}.`);
  checkShape(shape, `${where}.shape`);
  const size = isJsonObject(output.parameters) ? output.parameters.binary_data_size : undefined;
  if (size !== undefined) {
    const sizeWhere = `${where}.parameters.binary_data_size`;
    if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
      throw malformed(sizeWhere, `expected a whole number from 0 up, got ${shownValue(size)}.`);
    return decodeRaw(datatype, shape, tail.take(size, sizeWhere), sizeWhere);
  }
  if (!Array.isArray(output.data))
    throw malformed(`${where}.data`, `expected an array, got ${shownValue(output.data)}.`);
  const values = isLong(datatype) ? exactData(body, index) : output.data;
  const tensor = { datatype, shape, elements: elementCount(shape), place: { root: `${where}.data` } };
  return shape.length > 1 && Array.isArray(values[0])
    ? tensorFromNestedJson(tensor, values, body.length)
    : tensorFromFlatJson(tensor, values);
}

/** `body.exact` has the same structure as `body.value`, so this path exists. */
function exactData(body: JsonBody, index: number): readonly unknown[] {
  const outputs = body.exact.outputs as readonly { readonly data: readonly unknown[] }[];
  return outputs[index]?.data ?? [];
}
