/** The operations of a bulk request, and their lines in it. */
import { BatchwiseError } from 'batchwise';

/** The document of an operation. Other parameters of the action are passed on: `routing`, `if_seq_no`, `pipeline`. */
export interface BulkTarget {
  /** @default the index of the batcher */
  readonly _index?: string;
  readonly _id?: string | number;
  readonly [parameter: string]: unknown;
}

type Existing = BulkTarget & { readonly _id: string | number };

export type BulkOperation<Doc extends object = object> =
  /** Writes a document, whether or not it exists. */
  | { readonly index: BulkTarget; readonly doc: Doc }
  /** Writes a document that does not exist yet. */
  | { readonly create: BulkTarget; readonly doc: Doc }
  /** Changes a document: `doc`, `script`, `upsert`, `doc_as_upsert` and the like are passed on. */
  | { readonly update: Existing; readonly doc?: Partial<Doc>; readonly [parameter: string]: unknown }
  | { readonly delete: Existing };

const ACTIONS = ['index', 'create', 'update', 'delete'] as const;

/** The lines of an operation, each with its line feed. JSON has none within a line. */
export function linesOf(given: BulkOperation, defaultIndex: string | undefined): string {
  const operation: unknown = given;
  if (!isObject(operation)) throw invalid(`expected an operation, got ${nameOf(operation)}`);
  const [action, ...others] = ACTIONS.filter((name) => operation[name] !== undefined);
  if (action === undefined || others.length > 0) {
    const keys = Object.keys(operation).join(', ') || 'none';
    throw invalid(`expected an operation with one of index, create, update and delete, got ${keys}`);
  }
  const { [action]: target, ...rest } = operation;
  checkTarget(action, target, defaultIndex);
  const actionLine = `${JSON.stringify({ [action]: target })}\n`;
  return action === 'delete' ? actionLine : `${actionLine}${JSON.stringify(bodyOf(action, rest))}\n`;
}

function checkTarget(
  action: (typeof ACTIONS)[number],
  target: unknown,
  defaultIndex: string | undefined,
): void {
  if (!isObject(target))
    throw invalid(`${action}: expected an object such as { _id }, got ${nameOf(target)}`);
  const { _index = defaultIndex, _id } = target;
  if (typeof _index !== 'string' || _index === '') {
    throw invalid(`${action}: expected an _index, there or as the option index, got ${nameOf(_index)}`);
  }
  const isId = typeof _id === 'number' || (typeof _id === 'string' && _id !== '');
  const mayBeMissing = action === 'index' || action === 'create';
  if (!isId && !(mayBeMissing && _id === undefined)) {
    throw invalid(`${action}: expected an _id, got ${_id === '' ? 'an empty one' : nameOf(_id)}`);
  }
}

function bodyOf(action: 'index' | 'create' | 'update', rest: Record<string, unknown>): object {
  if (action === 'update') {
    if (rest.doc !== undefined || rest.script !== undefined) return rest;
    throw invalid('update: expected a doc or a script, got neither');
  }
  const { doc, ...others } = rest;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw invalid(`${action}: expected the fields of the document in doc, got ${unknown} beside it`);
  }
  if (isObject(doc)) return doc;
  throw invalid(`${action}: expected an object as doc, got ${nameOf(doc)}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : typeof value;
}

function invalid(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_ITEM', `${message}.`);
}
