/** Tensors with the names of the Open Inference Protocol. */

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

/** Elements in row-major order. BOOL is 0 or 1; FP16 is stored as bits; BYTES has one array per element. */
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

/** Tensors by name. A Map, so that no name collides with properties of Object. */
export type Tensors = ReadonlyMap<string, Tensor>;

/** An input or output of a model. −1 is a dimension of any length. */
export interface TensorSpec {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /**
   * BYTES of one dimension: each element is a JSON text. Clients of `:predict` and `predict()` send and receive the
   * values themselves.
   */
  readonly content?: 'json' | undefined;
  /** Each request or result has its own datatype; `datatype` is an assumption. */
  readonly anyDatatype?: true | undefined;
  /** Each request or result has its own number of dimensions, at least one; `shape` is an assumption. */
  readonly anyShape?: true | undefined;
  /** A row of an input as a client of `:predict` sends it, for the API docs. */
  readonly example?: unknown;
}

export interface Signature {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}
