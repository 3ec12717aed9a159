/** Adds the first row of an example request to the inputs of a signature, as a client of `:predict` sends it. */
import { elementCount } from './datatype.js';
import { jsonOfTensor } from './json-elements.js';
import { rowsOfTensor } from './nested-rows.js';
import { sliceTensor } from './split-tensor.js';
import type { Signature, Tensor, TensorSpec, Tensors } from './tensor.js';

/** Longer rows help no reader of the API docs. */
const MAX_ELEMENTS = 2048;
const MAX_CHARACTERS = 16_384;

export function signatureWithExample(signature: Signature, example: Tensors | undefined): Signature {
  if (example === undefined) return signature;
  const inputs = signature.inputs.map((spec) => {
    const row = rowOf(spec, example.get(spec.name));
    return row === undefined ? spec : { ...spec, example: row };
  });
  return { ...signature, inputs };
}

/** Undefined for a row that is too long, or that JSON cannot express exactly. */
function rowOf(spec: TensorSpec, tensor: Tensor | undefined): unknown {
  if (tensor === undefined || !((tensor.shape[0] as number) > 0)) return undefined;
  if (elementCount(tensor.shape.slice(1)) > MAX_ELEMENTS) return undefined;
  const first = sliceTensor(tensor, 0, 0, 1);
  const [row] = spec.content === 'json' ? jsonOfTensor(first) : rowsOfTensor(first, 0);
  let isExact = true;
  const text = JSON.stringify(row, (_, value) => {
    if (String(value).includes('\ufffd') || (typeof value === 'number' && !Number.isFinite(value)))
      isExact = false;
    return typeof value === 'bigint' ? String(value) : value;
  });
  if (!isExact) return undefined;
  return text.length > MAX_CHARACTERS ? undefined : JSON.parse(text);
}
