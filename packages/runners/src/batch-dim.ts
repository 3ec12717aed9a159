/** Determines the dimension along which requests to a model can be concatenated, if any. */
import type { RunnerSettings } from './runner-settings.js';
import type { Signature, TensorSpec } from './tensor.js';

type BatchableSettings = Pick<RunnerSettings, 'batchable' | 'batchDim'>;

/** Why requests to this model cannot be batched; undefined if they can. For the log and the docs. */
export function whyNotBatchable(
  { inputs, outputs }: Signature,
  { batchable, batchDim }: BatchableSettings,
): string | undefined {
  if (!batchable) return 'it is not declared batchable';
  if (inputs.length === 0) return 'it takes no inputs';
  const [inputDim, outputDim] = batchDim;
  for (const input of inputs) {
    const why = whyFixed('input', input, inputDim);
    if (why !== undefined) return why;
  }
  for (const output of outputs) {
    const why = whyFixed('output', output, outputDim);
    if (why !== undefined) return why;
  }
  return undefined;
}

function whyFixed(kind: 'input' | 'output', { name, shape }: TensorSpec, dim: number): string | undefined {
  const length = shape[dim];
  const where = `${kind} ${JSON.stringify(name)} of shape [${shape}]`;
  if (length === undefined) return `${where} has no dimension ${dim}`;
  return length === -1 ? undefined : `dimension ${dim} of ${where} is fixed at ${length}`;
}

/** The input dimension that counts rows; undefined if requests are neither split nor concatenated. */
export function rowDimOf(signature: Signature, settings: BatchableSettings): number | undefined {
  return whyNotBatchable(signature, settings) === undefined ? settings.batchDim[0] : undefined;
}
