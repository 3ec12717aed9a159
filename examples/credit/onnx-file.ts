/** Writes a neural network of dense layers as an ONNX file: the few messages of onnx.proto that such a file needs. */

export interface DenseLayer {
  readonly inputs: number;
  readonly outputs: number;
  /** Row by row: `inputs` rows of `outputs` values. */
  readonly weights: Float32Array;
  readonly bias: Float32Array;
  /** An operator of ONNX without attributes. */
  readonly activation: 'Tanh' | 'Sigmoid';
}

const IR_VERSION = 8;
const OPSET_VERSION = 17;
const FLOAT = 1;

/** Input `x` and output `y` have one row for each item; the number of rows is free. */
export function onnxFile(layers: readonly DenseLayer[]): Buffer {
  const nodes: Buffer[] = [];
  const initializers: Buffer[] = [];
  for (const [i, { inputs, outputs, weights, bias, activation }] of layers.entries()) {
    const input = i === 0 ? 'x' : `activated${i - 1}`;
    const output = i === layers.length - 1 ? 'y' : `activated${i}`;
    nodes.push(
      node('Gemm', [input, `weights${i}`, `bias${i}`], `sum${i}`),
      node(activation, [`sum${i}`], output),
    );
    initializers.push(tensor(`weights${i}`, [inputs, outputs], weights), tensor(`bias${i}`, [outputs], bias));
  }
  const graph = [
    ...nodes.map((one) => bytes(1, one)),
    text(2, 'network'),
    ...initializers.map((one) => bytes(5, one)),
    bytes(11, rows('x', layers[0]?.inputs ?? 0)),
    bytes(12, rows('y', layers.at(-1)?.outputs ?? 0)),
  ];
  const opset = Buffer.concat([text(1, ''), integer(2, OPSET_VERSION)]);
  return Buffer.concat([integer(1, IR_VERSION), bytes(7, ...graph), bytes(8, opset)]);
}

/** NodeProto */
function node(operator: string, inputs: readonly string[], output: string): Buffer {
  return Buffer.concat([...inputs.map((name) => text(1, name)), text(2, output), text(4, operator)]);
}

/** TensorProto */
function tensor(name: string, dimensions: readonly number[], values: Float32Array): Buffer {
  const raw = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  return Buffer.concat([
    ...dimensions.map((size) => integer(1, size)),
    integer(2, FLOAT),
    text(8, name),
    bytes(9, raw),
  ]);
}

/** ValueInfoProto of a matrix with a free number of rows */
function rows(name: string, columns: number): Buffer {
  const shape = [bytes(1, text(2, 'rows')), bytes(1, integer(1, columns))];
  const tensorType = [integer(1, FLOAT), bytes(2, ...shape)];
  return Buffer.concat([text(1, name), bytes(2, bytes(1, ...tensorType))]);
}

/** Fields of the protobuf wire format: a key of field number and wire type, then the value. */
function integer(field: number, value: number): Buffer {
  return Buffer.concat([varint(field * 8), varint(value)]);
}

function bytes(field: number, ...parts: readonly Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([varint(field * 8 + 2), varint(length), ...parts]);
}

function text(field: number, value: string): Buffer {
  return bytes(field, Buffer.from(value));
}

function varint(value: number): Buffer {
  const groups: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) groups.push((rest % 0x80) + 0x80);
  return Buffer.from([...groups, rest]);
}
