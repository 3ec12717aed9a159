/** ModelInfer's messages, with the contents of tensors as they travel. */

export interface TensorMessage {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  /** An InferTensorContents that nobody has looked into. */
  readonly contents: Uint8Array | undefined;
}

export interface InferRequestMessage {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly inputs: readonly TensorMessage[];
  /** The names of those that are wanted. */
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
