/** Shapes in requests, held against what the model takes. */
import type { TensorSpec } from '@batchwise/runners';
import { badRequest } from '../request-error.js';
import { describeJson } from './describe-json.js';

/** Checks what came as a shape; anything may have. */
export function readShape(value: unknown, spec: TensorSpec, where: string): readonly number[] {
  if (!Array.isArray(value)) {
    throw badRequest(where, `expected an array of dimensions, got ${describeJson(value)}.`);
  }
  if (value.length !== spec.shape.length) {
    throw badRequest(
      where,
      `expected ${dimensions(spec.shape.length)}, as the model takes ${shapeText(spec.shape)}, got ${value.length}.`,
    );
  }
  for (const [index, length] of value.entries()) {
    if (!Number.isSafeInteger(length) || length < 0) {
      throw badRequest(
        `${where}[${index}]`,
        `expected a whole number from 0 up, got ${describeJson(length)}.`,
      );
    }
    const expected = spec.shape[index];
    if (expected !== undefined && expected >= 0 && length !== expected) {
      throw badRequest(
        `${where}[${index}]`,
        `expected ${expected}, as the model takes ${shapeText(spec.shape)}, got ${length}.`,
      );
    }
    if (index === 0 && length === 0) throw badRequest(`${where}[0]`, 'expected at least one row, got 0.');
  }
  return value;
}

export function countElements(shape: readonly number[], where: string): number {
  let elements = 1;
  for (const length of shape) elements *= length;
  // NaN too: 0 times what has become infinite.
  if (!(elements <= Number.MAX_SAFE_INTEGER)) {
    throw badRequest(where, `${shapeText(shape)} is more elements than any tensor can have.`);
  }
  return elements;
}

export function shapeText(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`;
}

function dimensions(count: number): string {
  return count === 1 ? '1 dimension' : `${count} dimensions`;
}
