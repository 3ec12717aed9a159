/** The messages of ModelInfer, with the tensor contents as they are on the wire. */

export interface TensorMessage {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  /** An InferTensorContents that is not decoded yet. */
  readonly contents: Uint8Array | undefined;
}

export interface InferRequestMessage {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly inputs: readonly TensorMessage[];
  /** The names of the requested outputs. */
  readonly outputs: readonly string[];
  readonly rawInputContents: readonly Uint8Array[];
}

export interface InferResponseMessage {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly outputs: readonly TensorMessage[];
  readonly rawOutputContents: readonly Uint8Array[];
}
