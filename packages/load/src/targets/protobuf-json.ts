/**
 * A message from JSON. protobufjs converts what it can and drops the rest: a misspelt field would be left out, a text in
 * place of a number would be 0. Here that is an error, with the place.
 */
import protobuf from 'protobufjs';
import { LoadError } from '../load-error.js';

const INTEGERS = /^(u?int|s?fixed|sint)(32|64)$/;

/** @throws {LoadError} INVALID_OPTION */
export function messageFromJson(type: protobuf.Type, json: unknown, where: string): Uint8Array {
  const fields = fieldsOf(type, json, where);
  try {
    return type.encode(type.fromObject(fields as Record<string, unknown>)).finish();
  } catch (error) {
    throw new LoadError('INVALID_OPTION', `${where}: ${(error as Error).message}.`, { cause: error });
  }
}

function fieldsOf(type: protobuf.Type, json: unknown, where: string): unknown {
  if (!isObject(json)) throw wrong(where, `a JSON object for ${type.fullName.slice(1)}`, json);
  const known = new Map<string, protobuf.Field>();
  for (const field of type.fieldsArray) {
    field.resolve();
    known.set(field.name, field);
    // JSON names of protobuf: `input_ids` is `inputIds` as well.
    known.set(protobuf.util.camelCase(field.name), field);
  }
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(json)) {
    const field = known.get(name);
    if (field === undefined) {
      const names = type.fieldsArray.map((one) => one.name).join(', ') || 'none';
      throw new LoadError(
        'INVALID_OPTION',
        `${where}.${name}: ${type.fullName.slice(1)} has no such field. Its fields: ${names}.`,
      );
    }
    // JSON's null is a field that is not set.
    if (value !== null) fields[field.name] = fieldValue(field, value, `${where}.${name}`);
  }
  return fields;
}

function fieldValue(field: protobuf.Field, value: unknown, where: string): unknown {
  if (field.map) {
    if (!isObject(value)) throw wrong(where, 'a JSON object', value);
    const entries = Object.entries(value).map(([key, one]) => [key, single(field, one, `${where}.${key}`)]);
    return Object.fromEntries(entries);
  }
  if (!field.repeated) return single(field, value, where);
  if (isMapEntry(field.resolvedType) && isObject(value)) {
    const [, valueField] = field.resolvedType.fieldsArray as [protobuf.Field, protobuf.Field];
    valueField.resolve();
    return Object.entries(value).map(([key, one]) => ({
      key,
      value: single(valueField, one, `${where}.${key}`),
    }));
  }
  if (!Array.isArray(value)) throw wrong(where, 'an array', value);
  return value.map((one, index) => single(field, one, `${where}[${index}]`));
}

function single({ type, resolvedType }: protobuf.Field, value: unknown, where: string): unknown {
  if (resolvedType instanceof protobuf.Type) return fieldsOf(resolvedType, value, where);
  if (resolvedType instanceof protobuf.Enum) {
    const isKnown =
      typeof value === 'string' ? Object.hasOwn(resolvedType.values, value) : Number.isInteger(value);
    if (!isKnown) throw wrong(where, `one of ${Object.keys(resolvedType.values).join(', ')}`, value);
    return value;
  }
  if (INTEGERS.test(type)) {
    const isInteger = typeof value === 'string' ? /^-?\d+$/.test(value) : Number.isInteger(value);
    if (!isInteger) throw wrong(where, `a whole number (${type})`, value);
  } else if (type === 'bool') {
    if (typeof value !== 'boolean') throw wrong(where, 'true or false', value);
  } else if (type === 'string') {
    if (typeof value !== 'string') throw wrong(where, 'a string', value);
  } else if (type === 'bytes') {
    if (typeof value !== 'string' || !/^[\w+/-]*={0,2}$/.test(value))
      throw wrong(where, 'bytes in base64', value);
    return Buffer.from(value, 'base64');
  } else if (typeof value !== 'number') {
    const isSpecial = value === 'NaN' || value === 'Infinity' || value === '-Infinity';
    if (!isSpecial) throw wrong(where, `a number (${type})`, value);
    return Number(value);
  }
  return value;
}

/** In descriptors a map is repeated entries, which protobufjs leaves as they are. */
function isMapEntry(type: protobuf.Field['resolvedType']): type is protobuf.Type {
  if (!(type instanceof protobuf.Type) || type.options?.map_entry !== true) return false;
  return type.fieldsArray.map(({ name }) => name).join() === 'key,value';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrong(where: string, expected: string, got: unknown): LoadError {
  const shown = JSON.stringify(got)?.slice(0, 80) ?? String(got);
  return new LoadError('INVALID_OPTION', `${where}: expected ${expected}, got ${shown}.`);
}
