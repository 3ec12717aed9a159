/** Models to ask: `echo` signatures answer with their inputs. */
import type { Datatype, Signature, TensorSpec } from '@batchwise/runners';

export function spec(name: string, datatype: Datatype, shape: readonly number[]): TensorSpec {
  return { name, datatype, shape };
}

/** The outputs are the inputs, under names of their own. */
export function echoSignature(...inputs: TensorSpec[]): Signature {
  return { inputs, outputs: inputs.map((input) => ({ ...input, name: `${input.name}_out` })) };
}

export const ROWS_OF_4 = echoSignature(spec('input', 'FP32', [-1, 4]));
