/** Arrays with a shape, in the words of the Open Inference Protocol. */

export type Datatype =
  | 'BOOL'
  | 'UINT8'
  | 'UINT16'
  | 'UINT32'
  | 'UINT64'
  | 'INT8'
  | 'INT16'
  | 'INT32'
  | 'INT64'
  | 'FP16'
  | 'FP32'
  | 'FP64'
  | 'BYTES';

/** One element after the other, the last dimension fastest. BOOL is 0 or 1; FP16 its bits; BYTES one array an element. */
export type TensorData =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Float32Array
  | Float64Array
  | readonly Uint8Array[];

export interface Tensor {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly data: TensorData;
}

/** By name. A map, so that no name can be mistaken for something an object has anyway. */
export type Tensors = ReadonlyMap<string, Tensor>;

/** What a model takes or gives: −1 for a dimension of any length. */
export interface TensorSpec {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
}

export interface Signature {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}
