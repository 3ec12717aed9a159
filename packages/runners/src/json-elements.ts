/** JSON values as elements of a BYTES tensor with `content: 'json'`, and back. */
import { BatchwiseError } from 'batchwise';
import type { Tensor } from './tensor.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** `whereOf` names a value in error messages. */
export function tensorOfJson(values: readonly unknown[], whereOf: (index: number) => string): Tensor {
  const data = values.map((value, index) => encoder.encode(textOf(value, () => whereOf(index))));
  return { datatype: 'BYTES', shape: [values.length], data };
}

export function jsonOfTensor({ data }: Tensor): unknown[] {
  return (data as readonly Uint8Array[]).map((bytes) => JSON.parse(decoder.decode(bytes)));
}

/** The JSON texts themselves. */
export function jsonTextsOf({ data }: Tensor): string[] {
  return (data as readonly Uint8Array[]).map((bytes) => decoder.decode(bytes));
}

function textOf(value: unknown, where: () => string): string {
  let text: string | undefined;
  let cause: unknown;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    cause = error;
  }
  if (text !== undefined) return text;
  const got = cause instanceof Error ? cause.message : typeof value;
  throw new BatchwiseError('INVALID_ITEM', `${where()}: expected a JSON value, got ${got}.`, { cause });
}
