/**
 * An ONNX model, as a worker runs it: an item is a row, its result is the model's prediction; or it is a request of
 * a server, with many rows, which travels as MessagePack.
 */
import { basename } from 'node:path';
import {
  createModelHandler,
  DEFAULT_RUNNER_SETTINGS,
  OnnxModel,
  type RunnerSettings,
  whyNotBatchable,
} from '@batchwise/runners';
import type { WorkerOptions } from './worker-settings.js';
import type { WorkerSource } from './worker-source.js';

export interface ModelOfWorker {
  readonly name: string;
  readonly file: string;
  /** What a service says of it. */
  readonly settings?: Partial<Pick<RunnerSettings, 'batchDim' | 'resources' | 'timeoutMs' | 'warmup'>>;
  /** @default 64 */
  readonly maxBatchSize?: number | undefined;
  /** @default 1 */
  readonly concurrency?: number | undefined;
}

/** Loaded and warm. */
export async function modelSource(
  { name, file, settings = {}, ...own }: ModelOfWorker,
  asked: WorkerOptions,
  note: (line: string) => void,
): Promise<WorkerSource> {
  const maxBatchSize = asked.maxBatchSize ?? own.maxBatchSize ?? 64;
  const concurrency = asked.concurrency ?? own.concurrency ?? 1;
  const runnerSettings: RunnerSettings = {
    ...DEFAULT_RUNNER_SETTINGS,
    ...settings,
    ...(asked.handlerTimeoutMs === undefined ? {} : { timeoutMs: asked.handlerTimeoutMs }),
    resources: { ...DEFAULT_RUNNER_SETTINGS.resources, ...settings.resources },
    batchable: true,
    concurrency,
    batching: { ...DEFAULT_RUNNER_SETTINGS.batching, maxBatchSize },
  };
  const { resources } = runnerSettings;
  const onThreadDeath = (error: Error) => note(error.message);
  const model = await createModelHandler({
    name: `model ${basename(name)}`,
    model: new OnnxModel({ file, concurrency, resources, onThreadDeath }),
    settings: runnerSettings,
  });
  const why = whyNotBatchable(model.signature, runnerSettings);
  if (why !== undefined) note(`${name}: its rows are not put into batches: ${why}.`);
  const { handler, options } = model;
  return { handler, options, rule: undefined, close: () => model.close() };
}
