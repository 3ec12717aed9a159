/** What a request of either protocol says of its tensors, held against what the model takes and gives. */
import {
  DATATYPES,
  type Datatype,
  isDatatype,
  quoted,
  quotedList,
  shownValue,
  type TensorSpec,
} from '@batchwise/runners';
import { nearestWord } from 'batchwise';
import { badRequest } from './request-error.js';

/** Looks up an input or an output by the name that a request gives it. */
export function specNamed(
  name: string,
  specs: readonly TensorSpec[],
  kind: 'input' | 'output',
  where: string,
): TensorSpec {
  const spec = specs.find((candidate) => candidate.name === name);
  if (spec !== undefined) return spec;
  const names = specs.map((candidate) => candidate.name);
  const nearest = nearestWord(name, names);
  const hint = nearest === undefined ? '' : ` Did you mean ${quoted(nearest)}?`;
  throw badRequest(
    where,
    `expected an ${kind} of the model (${quotedList(names)}), got ${quoted(name)}.${hint}`,
  );
}

export function checkOnce(
  seen: { has(name: string): boolean },
  name: string,
  kind: 'input' | 'output',
  where: string,
): void {
  if (seen.has(name)) throw badRequest(where, `expected each ${kind} once, got ${quoted(name)} again.`);
}

export function checkAllThere(
  seen: { has(name: string): boolean },
  specs: readonly TensorSpec[],
  where: string,
): void {
  const missing = specs.filter(({ name }) => !seen.has(name)).map(({ name }) => name);
  if (missing.length === 0) return;
  throw badRequest(where, `expected all inputs of the model, got none for ${quotedList(missing)}.`);
}

export function checkDatatype(
  came: unknown,
  { datatype, anyDatatype }: TensorSpec,
  where: string,
): asserts came is Datatype {
  if (anyDatatype ? isDatatype(came) : came === datatype) return;
  if (anyDatatype) {
    throw badRequest(where, `expected one of ${DATATYPES.join(', ')}, got ${shownValue(came)}.`);
  }
  throw badRequest(
    where,
    `expected ${quoted(datatype)}, the datatype of the model, got ${shownValue(came)}.`,
  );
}

/** Checks what came as a shape; anything may have. */
export function readShape(value: unknown, spec: TensorSpec, where: string): readonly number[] {
  if (!Array.isArray(value)) {
    throw badRequest(where, `expected an array of dimensions, got ${shownValue(value)}.`);
  }
  if (spec.anyShape && value.length === 0) {
    throw badRequest(where, 'expected at least 1 dimension, which counts rows, got none.');
  }
  if (!spec.anyShape && value.length !== spec.shape.length) {
    throw badRequest(
      where,
      `expected ${dimensions(spec.shape.length)}, because the model expects ${shapeText(spec.shape)}, got ${value.length}.`,
    );
  }
  for (const [index, length] of value.entries()) {
    checkLength(length, `${where}[${index}]`);
    const expected = spec.anyShape ? undefined : spec.shape[index];
    if (expected !== undefined && expected >= 0 && length !== expected) {
      throw badRequest(
        `${where}[${index}]`,
        `expected ${expected}, because the model expects ${shapeText(spec.shape)}, got ${length}.`,
      );
    }
    if (index === 0 && length === 0) throw badRequest(`${where}[0]`, 'expected at least one row, got 0.');
  }
  return value;
}

export function checkLength(length: unknown, where: string): void {
  if (Number.isSafeInteger(length) && (length as number) >= 0) return;
  throw badRequest(where, `expected a whole number from 0 up, got ${shownValue(length)}.`);
}

export function shapeText(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`;
}

function dimensions(count: number): string {
  return count === 1 ? '1 dimension' : `${count} dimensions`;
}
