/**
 * What a body may contain, beside its bytes: enough for any request of that size that is meant, and little enough
 * that to parse, check and answer it blocks the event loop for less than 100 ms at the default limit of the bytes.
 */
import type { JsonLimits, Signature, TensorSpec, Tensors } from '@batchwise/runners';
import { RequestError } from './request-error.js';

export interface BodyLimits extends JsonLimits {
  /** Rows in the JSON of a request to a model. */
  readonly rows: number;
  /** Elements in the JSON of an answer, as far as a request lets them be foreseen. */
  readonly answered: number;
}

/** 4 MiB, as much as gRPC allows unless told otherwise: an image of 224 × 224 × 3 in JSON takes up to 3. */
export const DEFAULT_BODY_BYTES = 4 * 1024 * 1024;

/** A number in JSON takes 20 ns to parse, a short string up to 350: 174,762. */
const BYTES_PER_VALUE = 24;
/** An array or an object takes 100 ns to parse, a row of a model 500 ns until it is answered: 65,536. */
const BYTES_PER_CONTAINER = 64;
/** A key that no other object has takes 1 µs to parse and up to twice as much to check: 21,845. */
const BYTES_PER_KEY = 192;
/** An element of an answer takes 150 ns to be written as JSON: 349,525. */
const BYTES_PER_ANSWERED = 12;
/** What walks a value, a schema or `JSON.stringify`, does so by calling itself: deeper ones would end the stack. */
const DEEPEST = 200;

/** Grows with the limit of the bytes; never below that of the default, which is cheap enough. */
export function bodyLimitsOf(bodyBytes: number): BodyLimits {
  const bytes = Math.max(bodyBytes, DEFAULT_BODY_BYTES);
  const containers = Math.floor(bytes / BYTES_PER_CONTAINER);
  return {
    values: Math.floor(bytes / BYTES_PER_VALUE),
    containers,
    keys: Math.floor(bytes / BYTES_PER_KEY),
    depth: DEEPEST,
    rows: containers,
    answered: Math.floor(bytes / BYTES_PER_ANSWERED),
  };
}

export const DEFAULT_BODY_LIMITS = bodyLimitsOf(DEFAULT_BODY_BYTES);

/** Members of a request and of its parameters, and of each input and output with theirs; more than levels, so that what is too deep is told so. */
const KEYS_OF_REQUEST = 256;
const KEYS_OF_TENSOR = 32;
/** Values beside the elements of tensors. */
const VALUES_OF_REQUEST = 1024;

/** The same for a request to a model that takes rows of a known length. */
export function rowLimitsOf(limits: BodyLimits, { inputs }: Signature): BodyLimits {
  const perRow = inputs.reduce((sum, spec) => sum + valuesOfRow(spec), 0);
  return { ...limits, values: Math.min(limits.values, VALUES_OF_REQUEST + limits.rows * perRow) };
}

/** The same for a request that names each tensor once. */
export function tensorLimitsOf(limits: BodyLimits, signature: Signature): BodyLimits {
  const tensors = signature.inputs.length + signature.outputs.length;
  const keys = Math.min(limits.keys, KEYS_OF_REQUEST + KEYS_OF_TENSOR * tensors);
  return { ...rowLimitsOf(limits, signature), keys };
}

/**
 * Refuses a request whose answer would be too long in JSON: a row may take a byte and be answered by a thousand
 * numbers.
 */
export function checkAnswered(
  limits: BodyLimits,
  inputs: Tensors,
  outputs: readonly TensorSpec[],
  isInJson: (output: string) => boolean,
): void {
  const [first] = inputs.values();
  const rows = first?.shape[0] ?? 1;
  if (rows <= 1) return;
  let perRow = 0;
  for (const spec of outputs) if (isInJson(spec.name)) perRow += answeredPerRow(spec);
  if (rows * perRow <= limits.answered) return;
  const most = Math.max(1, Math.floor(limits.answered / perRow));
  const message = `expected at most ${most} rows, because the response has ${perRow} JSON values for each, got ${rows} (see server.limits.body_bytes).`;
  throw new RequestError('TOO_LARGE', message, { where: 'body' });
}

/** Where the model leaves a length open, 1: it is not known before. */
function answeredPerRow({ shape: [rows, ...row] }: TensorSpec): number {
  if (rows !== -1) return 0;
  return row.reduce((product, length) => product * Math.max(1, length), 1);
}

/** Elements and the arrays around them, each once for a dimension at most; infinite if the model leaves it open. */
function valuesOfRow({ shape: [, ...row], content }: TensorSpec): number {
  if (content === 'json' || row.some((length) => length < 0)) return Number.POSITIVE_INFINITY;
  return row.reduce((product, length) => product * Math.max(1, length), 1) * (1 + row.length);
}
