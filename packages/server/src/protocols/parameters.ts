/** The `parameters` of a request, an input or an output: strings, numbers and booleans by name. */
import { isJsonObject, type JsonObject, shownValue } from '@batchwise/runners';
import { badRequest } from '../request-error.js';

/** Of extensions that are not here. To ignore them would be to answer something else than was asked. */
const NOT_SUPPORTED = new Set([
  'shared_memory_region',
  'shared_memory_offset',
  'shared_memory_byte_size',
  'classification',
]);

const NONE: JsonObject = {};

export function readParameters(value: unknown, where: string): JsonObject {
  if (value === undefined || value === null) return NONE;
  if (!isJsonObject(value)) throw badRequest(where, `expected an object, got ${shownValue(value)}.`);
  for (const [name, parameter] of Object.entries(value)) {
    if (NOT_SUPPORTED.has(name)) {
      throw badRequest(`${where}.${name}`, 'belongs to an extension that this server does not support.');
    }
    if (typeof parameter !== 'string' && typeof parameter !== 'number' && typeof parameter !== 'boolean') {
      throw badRequest(
        `${where}.${name.slice(0, 60)}`,
        `expected a string, a number or a boolean, got ${shownValue(parameter)}.`,
      );
    }
  }
  return value;
}

export function booleanParameter(parameters: JsonObject, name: string, where: string): boolean | undefined {
  const value = parameters[name];
  if (value !== undefined && typeof value !== 'boolean') {
    throw badRequest(`${where}.${name}`, `expected true or false, got ${shownValue(value)}.`);
  }
  return value;
}

export function sizeParameter(parameters: JsonObject, name: string, where: string): number | undefined {
  const value = parameters[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw badRequest(`${where}.${name}`, `expected a whole number from 0 up, got ${shownValue(value)}.`);
  }
  return value;
}
