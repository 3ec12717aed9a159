/**
 * The first value of a large input that does not fit its schema. Zod looks at all of them and describes each, a
 * few microseconds for each; of a hundred thousand, one is enough to refuse the input.
 *
 * Goes down arrays, objects and what else has its parts checked one by one. What it does not know is left to zod, as
 * is an input in which it finds nothing: so it never refuses what zod would take.
 */
import * as z from 'zod';
import type { Schema } from './schema.js';
import { type FoundIssue, foundIssues } from './schema-issues.js';

type Found = FoundIssue | undefined;
type Path = PropertyKey[];

const LEAVES: ReadonlySet<string> = new Set([
  'string',
  'number',
  'boolean',
  'null',
  'undefined',
  'literal',
  'enum',
  'template_literal',
  'never',
]);

/** What the schemas with parts have in common, of which zod's types say one each. */
interface Parts {
  readonly type: string;
  readonly element: Schema;
  readonly shape: Readonly<Record<string, Schema>>;
  readonly valueType: Schema;
  readonly innerType: Schema;
  readonly in: Schema;
  readonly items: readonly Schema[];
  readonly options: readonly Schema[];
}

/** `root` is how the whole value is called. */
export function firstMismatch(schema: Schema, value: unknown, root: string): Found {
  return find(schema, value, [], root);
}

function find(schema: Schema, value: unknown, path: Path, root: string): Found {
  const parts = schema._zod.def as unknown as Parts;
  switch (parts.type) {
    case 'array':
      if (!Array.isArray(value)) return leaf(schema, value, path, root);
      return firstOf(value, path, (item) => find(parts.element, item, path, root));
    case 'tuple':
      if (!Array.isArray(value)) return leaf(schema, value, path, root);
      return firstOf(value.slice(0, parts.items.length), path, (item, index) =>
        find(parts.items[index] as Schema, item, path, root),
      );
    case 'object':
      if (!isRecord(value)) return leaf(schema, value, path, root);
      return firstIn(Object.keys(parts.shape), path, (key) =>
        find(parts.shape[key] as Schema, value[key], path, root),
      );
    case 'record':
      if (!isRecord(value)) return leaf(schema, value, path, root);
      return firstIn(Object.keys(value), path, (key) => find(parts.valueType, value[key], path, root));
    case 'optional':
      return value === undefined ? undefined : find(parts.innerType, value, path, root);
    case 'nullable':
      return value === null ? undefined : find(parts.innerType, value, path, root);
    case 'readonly':
      return find(parts.innerType, value, path, root);
    case 'pipe':
      return find(parts.in, value, path, root);
    case 'union': {
      const fitsSome = parts.options.some((option) => find(option, value, [...path], root) === undefined);
      if (fitsSome) return undefined;
      return issueOf(
        { code: 'custom', message: 'matches none of the alternatives', input: value },
        path,
        root,
      );
    }
    default:
      return LEAVES.has(parts.type) ? leaf(schema, value, path, root) : undefined;
  }
}

function leaf(schema: Schema, value: unknown, path: Path, root: string): Found {
  const result = schema._zod.run({ value, issues: [] }, { async: false });
  if (result instanceof Promise) return undefined;
  const [first] = result.issues;
  return first && issueOf(first, path, root);
}

function issueOf(issue: z.core.$ZodRawIssue, path: Path, root: string): Found {
  const told = z.core.util.finalizeIssue(issue, { reportInput: true }, z.core.config());
  return foundIssues(root, [{ ...told, path: [...path, ...told.path] }])[0];
}

function firstOf(
  items: readonly unknown[],
  path: Path,
  look: (item: unknown, index: number) => Found,
): Found {
  for (let index = 0; index < items.length; index++) {
    path.push(index);
    const found = look(items[index], index);
    if (found !== undefined) return found;
    path.pop();
  }
  return undefined;
}

function firstIn(keys: readonly string[], path: Path, look: (key: string) => Found): Found {
  return firstOf(keys, path, (key) => {
    path[path.length - 1] = key as string;
    return look(key as string);
  });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
