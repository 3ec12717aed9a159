/** What a model takes and gives, read off a session of onnxruntime. */
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
    // Lists and maps, as converters of scikit-learn add them, cannot be read by this runtime; the tensors beside them can.
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
  // A dimension with a name, or with none, may be of any length.
  return {
    name,
    datatype,
    shape: metadata.shape.map((length) => (typeof length === 'number' ? length : -1)),
  };
}
