/** The zod schemas of a service as parts of the document: each one under `components/schemas`, referred to from there. */
import * as z from 'zod';
import type { Schema } from '../service/schema.js';
import type { JsonSchema, Reference } from './open-api.js';

/** Keywords whose values are data: a `$ref` in there refers to nothing. */
const DATA = new Set(['default', 'examples', 'example', 'enum', 'const']);
/** Keywords whose values are schemas by name: the names there are no keywords. */
const NAMED = new Set(['properties', 'patternProperties', 'dependentSchemas']);

export class SchemaParts {
  readonly schemas: Record<string, JsonSchema> = {};
  readonly #originals = new Map<string, string>();

  /** `io`: as a client writes it, or as it comes out of the schema. */
  add(name: string, schema: Schema, io: 'input' | 'output'): Reference {
    const { $schema: _, $defs = {}, ...root } = jsonSchema(schema, io) as Record<string, unknown>;
    const names = new Map<string, string>();
    for (const [key, part] of Object.entries($defs as Record<string, JsonSchema>)) {
      names.set(key, this.#free(key, name, part));
    }
    const refOf = (ref: string) =>
      pointer(ref === '#' ? name : (names.get(ref.slice('#/$defs/'.length)) ?? name));
    for (const [key, part] of Object.entries($defs as Record<string, JsonSchema>)) {
      this.schemas[names.get(key) ?? key] = withReferences(part, refOf) as JsonSchema;
    }
    this.schemas[name] = withReferences(root, refOf) as JsonSchema;
    return { $ref: pointer(name) };
  }

  /** What a reference stands for; a schema with a name of its own is a reference in its turn. */
  resolved(ref: string): JsonSchema {
    const schema = this.schemas[ref.slice(pointer('').length)] ?? {};
    return typeof schema.$ref === 'string' && schema.$ref !== ref ? this.resolved(schema.$ref) : schema;
  }

  /** A part that its author has named keeps that name, unless another part has it. */
  #free(key: string, owner: string, part: JsonSchema): string {
    const isNamed = /^[A-Za-z0-9.-][\w.-]*$/.test(key);
    const original = JSON.stringify(part);
    if (isNamed && (this.#originals.get(key) ?? original) === original && !Object.hasOwn(RESERVED, key)) {
      this.#originals.set(key, original);
      return key;
    }
    return `${owner}.${key.replace(/[^\w.-]/g, '_')}`;
  }
}

/** Names of parts that the server has itself. */
const RESERVED: Readonly<Record<string, true>> = { Problem: true, ModelMetadata: true, ModelReady: true };

function pointer(name: string): string {
  return `#/components/schemas/${name}`;
}

function jsonSchema(schema: Schema, io: 'input' | 'output'): JsonSchema {
  try {
    return z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      // JSON has dates as text.
      override: ({ zodSchema, jsonSchema: made }) => {
        if (zodSchema._zod.def.type === 'date') Object.assign(made, { type: 'string', format: 'date-time' });
      },
    }) as JsonSchema;
  } catch (error) {
    // A page with a gap is better than none.
    return { description: `This schema cannot be shown: ${error instanceof Error ? error.message : error}` };
  }
}

function withReferences(value: unknown, refOf: (ref: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, refOf));
  if (typeof value !== 'object' || value === null) return value;
  return mapped(value, (part, key) => {
    if (key === '$ref' && typeof part === 'string') return refOf(part);
    if (DATA.has(key)) return part;
    if (NAMED.has(key)) return mapped(part as object, (schema) => withReferences(schema, refOf));
    return withReferences(part, refOf);
  });
}

function mapped(object: object, change: (value: unknown, key: string) => unknown): object {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
}
