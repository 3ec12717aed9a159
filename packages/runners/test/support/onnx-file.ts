/** Writes tiny ONNX models whose outputs are their inputs. */
import type { Datatype, TensorSpec } from '../../src/index.js';

/** The numbers of the types in onnx.proto. */
const ELEMENT_TYPES: Readonly<Record<Datatype, number>> = {
  FP32: 1,
  UINT8: 2,
  INT8: 3,
  UINT16: 4,
  INT16: 5,
  INT32: 6,
  INT64: 7,
  BYTES: 8,
  BOOL: 9,
  FP16: 10,
  FP64: 11,
  UINT32: 12,
  UINT64: 13,
};

/** A model that returns each `input` as `<its name>_out`. */
export function identityModel(inputs: readonly TensorSpec[]): Uint8Array {
  const graph = [
    ...inputs.map(({ name }) => field(1, [text(1, name), text(2, `${name}_out`), text(4, 'Identity')])),
    text(2, 'identity'),
    ...inputs.map((spec) => field(11, valueInfo(spec))),
    ...inputs.map((spec) => field(12, valueInfo({ ...spec, name: `${spec.name}_out` }))),
  ];
  return Uint8Array.from([varint(1, 8), field(8, [varint(2, 13)]), field(7, graph)].flat());
}

function valueInfo({ name, datatype, shape }: TensorSpec): number[][] {
  const dims = shape.map((length, i) => field(1, [length === -1 ? text(2, `d${i}`) : varint(1, length)]));
  return [text(1, name), field(2, [field(1, [varint(1, ELEMENT_TYPES[datatype]), field(2, dims)])])];
}

function varint(number: number, value: number): number[] {
  return [number << 3, ...encoded(value)];
}

function text(number: number, value: string): number[] {
  return field(number, [[...new TextEncoder().encode(value)]]);
}

function field(number: number, parts: readonly (readonly number[])[]): number[] {
  const bytes = parts.flat();
  return [(number << 3) | 2, ...encoded(bytes.length), ...bytes];
}

function encoded(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return [...bytes, rest];
}
