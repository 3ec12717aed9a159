/** Checks what users give against a schema: one message with the place, what was expected and what came. */
import { shownValue } from '@batchwise/runners';
import { didYouMean } from 'batchwise';
import type { z } from 'zod';
import { LoadError } from './load-error.js';

/**
 * @param prefix what the place is in: `load.ts: `, or nothing
 * @throws {LoadError} INVALID_OPTION
 */
export function valid<T>(schema: z.ZodType<T>, value: unknown, prefix = ''): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = deepest(result.error.issues);
  if (issue === undefined) throw new LoadError('INVALID_OPTION', `${prefix}invalid.`);
  throw new LoadError('INVALID_OPTION', `${prefix}${issueText(schema, value, issue)}`);
}

type Issue = z.core.$ZodIssue;

/** Of a union: the alternative that went furthest is the one that was meant. */
function deepest(issues: readonly Issue[]): Issue | undefined {
  // A key that is mistyped is also one that is missing: the typing error says more.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  if (issue?.code !== 'invalid_union' || issue.errors.length === 0) return issue;
  let best: Issue | undefined;
  for (const alternative of issue.errors) {
    const inner = deepest(alternative);
    if (inner !== undefined && (best === undefined || inner.path.length > best.path.length)) best = inner;
  }
  if (best === undefined || best.path.length === 0) return issue;
  return { ...best, path: [...issue.path, ...best.path] };
}

function issueText(schema: z.ZodType, value: unknown, issue: Issue): string {
  const place = issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0] ?? '';
    const known = keysAt(schema, value, issue.path);
    const hint = didYouMean(key, known);
    return `${place}unknown key ${key}.${hint === '' && known.length > 0 ? ` There are ${known.join(', ')}.` : hint}`;
  }
  if (issue.code === 'invalid_key') return `${place}${issue.issues[0]?.message}.`;
  const at = valueAt(value, issue.path);
  // Of an object with parts that do not fit together, its type says nothing.
  if (issue.code === 'custom' && typeof at === 'object') return `${place}${issue.message}.`;
  return `${place}${expected(issue.message)}, got ${at === undefined ? 'nothing' : shownValue(at)}.`;
}

function expected(message: string): string {
  if (message.startsWith('expected')) return message;
  const [, what] = /expected (.+?)(?:, received .*)?$/i.exec(message) ?? [];
  return what === undefined ? message.charAt(0).toLowerCase() + message.slice(1) : `expected ${what}`;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) at = (at as Record<PropertyKey, unknown> | null | undefined)?.[key];
  return at;
}

/** The keys of the object at a place of the schema; none where they are not known. */
function keysAt(schema: unknown, value: unknown, path: readonly PropertyKey[]): string[] {
  let at = schema as SchemaParts | undefined;
  let data = value;
  for (const key of path) {
    at = objectOf(at, data);
    data = (data as Record<PropertyKey, unknown> | null | undefined)?.[key];
    at = at?.shape?.[String(key)] ?? at?._zod.def.element ?? at?._zod.def.valueType;
  }
  return Object.keys(objectOf(at, data)?.shape ?? {});
}

interface SchemaParts {
  readonly shape?: Readonly<Record<string, SchemaParts>>;
  readonly _zod: {
    readonly def: {
      readonly element?: SchemaParts;
      readonly valueType?: SchemaParts;
      readonly innerType?: SchemaParts;
      readonly options?: readonly SchemaParts[];
      readonly discriminator?: string;
    };
  };
  safeParse?(value: unknown): { success: boolean };
}

/** Without what is around it: optional, default, a union. */
function objectOf(schema: SchemaParts | undefined, value: unknown): SchemaParts | undefined {
  const { innerType, options, discriminator } = schema?._zod.def ?? {};
  if (innerType !== undefined) return objectOf(innerType, value);
  if (options === undefined) return schema;
  if (discriminator !== undefined) {
    const kind = (value as Record<string, unknown> | null | undefined)?.[discriminator];
    return options.find((option) => option.shape?.[discriminator]?.safeParse?.(kind).success);
  }
  return options.find((option) => option.shape !== undefined);
}
