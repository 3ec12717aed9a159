/**
 * An ONNX model, as a worker runs it: an item is a row, its result is the model's prediction; or it is a request of
 * a server, with many rows, which travels as MessagePack.
 */
import { basename } from 'node:path';
import { OnnxModel } from '@batchwise/runners';
import { modelOfWorker, type RunnerOfWorker, settingsOfWorker } from './runner-of-worker.js';
import type { WorkerOptions } from './worker-settings.js';
import type { WorkerSource } from './worker-source.js';

export interface ModelOfWorker extends RunnerOfWorker {
  readonly file: string;
}

/** Loaded and warm. */
export function modelSource(
  { file, ...said }: ModelOfWorker,
  asked: WorkerOptions,
  note: (line: string) => void,
): Promise<WorkerSource> {
  const settings = settingsOfWorker(said, asked);
  const { concurrency, resources } = settings;
  const onThreadDeath = (error: Error) => note(error.message);
  const model = new OnnxModel({ file, concurrency, resources, onThreadDeath });
  return modelOfWorker(said.name, { name: `model ${basename(said.name)}`, model, settings }, note);
}
