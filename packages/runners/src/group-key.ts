/**
 * The group key of a request: the lengths of the dimensions that the model leaves open, and the datatype if it is open.
 * Requests in a batch must agree in them.
 */
import type { Signature, Tensor, Tensors } from './tensor.js';

/**
 * Returns undefined if only the number of rows is open. Then all requests form one group, and the policy can use all
 * arrivals for its forecast.
 */
export function groupKeyOf(
  { inputs }: Signature,
  rowDim: number,
): ((inputs: Tensors) => unknown) | undefined {
  if (inputs.some(({ anyDatatype, anyShape }) => anyDatatype || anyShape)) {
    return (tensors) => inputs.map(({ name }) => formOf(tensors.get(name) as Tensor, rowDim)).join();
  }
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

function formOf({ datatype, shape }: Tensor, rowDim: number): string {
  return `${datatype} ${shape.toSpliced(rowDim, 1)}`;
}
