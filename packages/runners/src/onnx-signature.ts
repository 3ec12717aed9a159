/** Reads the signature of a model from a session of onnxruntime. */
import type { InferenceSession } from 'onnxruntime-node';
import { datatypeOfOnnx } from './datatype.js';
import type { Signature, TensorSpec } from './tensor.js';

type Metadata = InferenceSession.ValueMetadata;

export function signatureOf({
  inputMetadata,
  outputMetadata,
}: Pick<InferenceSession, 'inputMetadata' | 'outputMetadata'>): Signature {
  return {
    inputs: inputMetadata.map((input) => specOf('input', input)),
    // onnxruntime-node cannot read lists and maps, which converters of scikit-learn add. They are ignored.
    outputs: outputMetadata.filter(({ isTensor }) => isTensor).map((output) => specOf('output', output)),
  };
}

function specOf(kind: 'input' | 'output', metadata: Metadata): TensorSpec {
  const { name } = metadata;
  if (!metadata.isTensor) throw new Error(`${kind} ${JSON.stringify(name)} is not a tensor`);
  const datatype = datatypeOfOnnx(metadata.type);
  if (datatype === undefined) {
    throw new Error(`${kind} ${JSON.stringify(name)} is of type ${metadata.type}, which cannot be served`);
  }
  // A dimension with a name, or without a value, may have any length.
  return {
    name,
    datatype,
    shape: metadata.shape.map((length) => (typeof length === 'number' ? length : -1)),
  };
}
