/** What requests must have in common to share a batch: the lengths that the model leaves open. */
import type { Signature, Tensor, Tensors } from './tensor.js';

/**
 * Undefined when the model leaves nothing open but the number of rows: then all requests are of one group,
 * and the policy may count on everybody who comes. Names and datatypes are the same in all requests.
 */
export function groupKeyOf(
  { inputs }: Signature,
  rowDim: number,
): ((inputs: Tensors) => unknown) | undefined {
  const free = inputs.flatMap(({ name, shape }) =>
    shape.flatMap((length, dim) => (length === -1 && dim !== rowDim ? [{ name, dim }] : [])),
  );
  const only = free[0];
  if (only === undefined) return undefined;
  const lengthOf = (tensors: Tensors, { name, dim }: { name: string; dim: number }) =>
    (tensors.get(name) as Tensor).shape[dim] as number;
  if (free.length === 1) return (tensors) => lengthOf(tensors, only);
  return (tensors) => {
    let key = '';
    for (const place of free) key += `${lengthOf(tensors, place)},`;
    return key;
  };
}
