/** ModelInfer's messages, with the contents of tensors as they travel. */

export interface InputTensorMessage {
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
  readonly inputs: readonly InputTensorMessage[];
  /** The names of those that are wanted. */
  readonly outputs: readonly string[];
  readonly rawInputContents: readonly Uint8Array[];
}
