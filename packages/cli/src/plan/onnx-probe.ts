/** An ONNX model for `--probe`: run as in a worker, with rows of zeros. */
import { basename } from 'node:path';
import {
  createModelHandler,
  DEFAULT_RUNNER_SETTINGS,
  elementCount,
  newData,
  OnnxModel,
  requestToData,
  type TensorSpec,
  whyNotBatchable,
} from '@batchwise/runners';
import type { ProbeTarget } from './probe-target.js';

export async function loadOnnxModel(file: string, maxBatchSize: number): Promise<ProbeTarget> {
  const settings = {
    ...DEFAULT_RUNNER_SETTINGS,
    batchable: true,
    batching: { ...DEFAULT_RUNNER_SETTINGS.batching, maxBatchSize },
    timeoutMs: Number.POSITIVE_INFINITY,
    warmup: 0, // the probe has its own
  };
  const name = basename(file);
  const model = await createModelHandler({ name, model: new OnnxModel({ file }), settings });
  const { inputs } = model.signature;
  const why = whyNotBatchable(model.signature, settings);
  const row = requestToData({ inputs: new Map(inputs.map((spec) => [spec.name, zeros(spec)])) });
  const dynamic = inputs.filter(({ shape }) =>
    shape.some((length, dim) => length === -1 && (dim > 0 || why !== undefined)),
  );
  return {
    handler: model.handler,
    // A new object per item, as in a server: per-item data is keyed by object.
    makeItem: () => ({ ...row }),
    maxBatchSize: model.options.maxBatchSize,
    notes: [
      ...(why === undefined ? [] : [`${name} takes one request at a time: ${why}.`]),
      ...dynamic.map(
        (input) =>
          `input ${JSON.stringify(input.name)} [${input.shape}] of ${name} has dynamic dimensions: measured with ` +
          'length 1. For other lengths, probe a module with a handler and a sample.',
      ),
    ],
    close: () => model.close(),
  };
}

/** One row; a dynamic dimension has length 1. */
function zeros({ datatype, shape: spec }: TensorSpec) {
  const shape = spec.map((length) => (length === -1 ? 1 : length));
  return { datatype, shape, data: newData(datatype, elementCount(shape)) };
}
