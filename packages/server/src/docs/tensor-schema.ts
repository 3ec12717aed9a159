/** Tensors as JSON schemas, and values that fit them. */
import type { Datatype, TensorSpec } from '@batchwise/runners';
import type { JsonSchema } from './open-api.js';

/** An example of more would be longer than anybody reads, and than a page can show. */
const MOST_EXAMPLE_ELEMENTS = 2048;

/** Rows, without the dimension that counts them. */
export function rowValueSchema({ datatype, shape, ...spec }: TensorSpec, isAnswer: boolean): JsonSchema {
  if (spec.content === 'json') return ANY_JSON;
  if (spec.anyDatatype || spec.anyShape) return ANY_VALUES;
  return nestedSchema(datatype, shape.slice(1), isAnswer);
}

/** All rows in one array. */
export function columnSchema(spec: TensorSpec, isAnswer: boolean): JsonSchema {
  if (spec.content === 'json' || spec.anyDatatype || spec.anyShape)
    return { type: 'array', items: rowValueSchema(spec, isAnswer) };
  return nestedSchema(spec.datatype, spec.shape, isAnswer);
}

/** Arrays in arrays. What JSON has no number for, NaN say, an answer has null for. */
function nestedSchema(datatype: Datatype, shape: readonly number[], isAnswer = false): JsonSchema {
  return shape.reduceRight<JsonSchema>(
    (items, length) =>
      length === -1 ? { type: 'array', items } : { type: 'array', items, minItems: length, maxItems: length },
    elementSchema(datatype, isAnswer),
  );
}

/** The values of a tensor with `content: 'json'`. */
const ANY_JSON: JsonSchema = { description: 'Any JSON value.' };
const ANY_VALUES: JsonSchema = { description: 'A number, a boolean, a string, or nested arrays of these.' };
const JSON_EXAMPLE = { key: 'value' };

/** One element after the other. */
export function flatSchema(
  { datatype, shape, content, anyDatatype }: TensorSpec,
  isAnswer = false,
): JsonSchema {
  if (anyDatatype)
    return { type: 'array', description: 'Row-major order: the last dimension varies fastest.' };
  const items = content === 'json' ? JSON_TEXT : elementSchema(datatype, isAnswer);
  const order = `Row-major order of the shape [${shape}]: the last dimension varies fastest.`;
  return { type: 'array', items, description: order };
}

/**
 * A request has at least one row. In words that generators of clients know, too: they fail at `const` in a tuple, and at
 * `items: false` behind one.
 */
export function shapeSchema({ shape, anyShape }: TensorSpec, isAnswer = false): JsonSchema {
  if (anyShape) return { type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 1 };
  const dimension = (length: number, index: number) =>
    length === -1
      ? { type: 'integer', minimum: index === 0 && !isAnswer ? 1 : 0 }
      : { type: 'integer', minimum: length, maximum: length };
  const dimensions = shape.length === 0 ? {} : { prefixItems: shape.map(dimension) };
  return { type: 'array', ...dimensions, minItems: shape.length, maxItems: shape.length };
}

/** Values of this shape, open dimensions being of length 1; undefined when they are too many to show. */
function nestedExample(datatype: Datatype, shape: readonly number[]): unknown {
  if (elementCount(shape) > MOST_EXAMPLE_ELEMENTS) return undefined;
  const [length, ...rest] = shape;
  if (length === undefined) return elementExample(datatype);
  const row = nestedExample(datatype, rest);
  return Array.from({ length: length === -1 ? 1 : length }, () => row);
}

/** The example of the model, or a value that fits; undefined if it is too long to show. */
export function rowExampleOf({ datatype, shape, content, example }: TensorSpec): unknown {
  if (example !== undefined) return example;
  return content === 'json' ? JSON_EXAMPLE : nestedExample(datatype, shape.slice(1));
}

/** A tensor of the Open Inference Protocol with one row; undefined if it is too long to show. */
export function tensorExample(spec: TensorSpec): unknown {
  const { name, datatype, shape, content, example } = spec;
  if (example === undefined) {
    const data = flatExample(spec);
    return data && { name, datatype, shape: exampleShape(shape), data };
  }
  if (content === 'json') return { name, datatype, shape: [1], data: [JSON.stringify(example)] };
  const data = [example];
  const lengths = [1];
  for (let value: unknown = example; Array.isArray(value); value = value[0]) lengths.push(value.length);
  return { name, datatype, shape: lengths, data: data.flat(Number.POSITIVE_INFINITY) };
}

function flatExample({ datatype, shape, content }: TensorSpec): readonly unknown[] | undefined {
  const count = elementCount(shape);
  if (count > MOST_EXAMPLE_ELEMENTS) return undefined;
  const element = content === 'json' ? JSON.stringify(JSON_EXAMPLE) : elementExample(datatype);
  return new Array(count).fill(element);
}

function exampleShape(shape: readonly number[]): number[] {
  return shape.map((length) => (length === -1 ? 1 : length));
}

function elementCount(shape: readonly number[]): number {
  return exampleShape(shape).reduce((count, length) => count * length, 1);
}

function elementSchema(datatype: Datatype, isAnswer: boolean): JsonSchema {
  switch (datatype) {
    case 'BOOL':
      return { type: 'boolean' };
    case 'FP16':
    case 'FP32':
    case 'FP64':
      return isAnswer ? { type: ['number', 'null'] } : { type: 'number' };
    case 'BYTES':
      return { anyOf: [{ type: 'string' }, BASE64] };
    case 'INT64':
    case 'UINT64':
      // Strings carry what a JSON number would round.
      return {
        anyOf: [
          { type: 'integer', format: datatype.toLowerCase() },
          { type: 'string', pattern: '^-?\\d+$' },
        ],
      };
    default: {
      const bits = Number(datatype.replace(/\D/g, ''));
      const isSigned = datatype.startsWith('INT');
      const [minimum, maximum] = isSigned ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
      return { type: 'integer', minimum, maximum };
    }
  }
}

/** Tensors of the Open Inference Protocol carry JSON values as texts. */
const JSON_TEXT: JsonSchema = { type: 'string', contentMediaType: 'application/json' };

const BASE64 = {
  type: 'object',
  required: ['b64'],
  properties: { b64: { type: 'string', contentEncoding: 'base64' } },
} as const;

function elementExample(datatype: Datatype): unknown {
  if (datatype === 'BOOL') return true;
  if (datatype === 'BYTES') return 'text';
  return datatype.startsWith('FP') ? 0.5 : 1;
}
