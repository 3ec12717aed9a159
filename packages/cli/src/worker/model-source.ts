/**
 * A model file as the source of a worker. An item is a row, and its result is the prediction of the model; or an item is
 * a request of a server with many rows, encoded as MessagePack.
 */
import { basename } from 'node:path';
import { OnnxModel, PythonModel, type RunnerSettings, type TensorModel } from '@batchwise/runners';
import { modelOfWorker, type RunnerOfWorker, settingsOfWorker } from './runner-of-worker.js';
import type { WorkerOptions } from './worker-settings.js';
import type { WorkerSource } from './worker-source.js';

export interface ModelOfWorker extends RunnerOfWorker {
  readonly kind: 'onnx' | 'python';
  readonly file: string;
  /** Of a Python file: the class, function or variable. */
  readonly object?: string | undefined;
}

/** Resolves when the model is loaded and warmed up. */
export async function modelSource(
  model: ModelOfWorker,
  asked: WorkerOptions,
  note: (line: string) => void,
): Promise<WorkerSource> {
  const { name, kind } = model;
  const settings = settingsOfWorker(model, asked);
  const shownName = `model ${basename(name)}`;
  if (kind === 'onnx')
    return modelOfWorker(name, { name: shownName, model: onnxModel(model, settings, note), settings }, note);
  const { replicas } = settings;
  // `--concurrency` counts the batches of the worker, `concurrency` of a service those of each Python process.
  const concurrency =
    asked.concurrency === undefined ? settings.concurrency : Math.ceil(asked.concurrency / replicas);
  const ofProcess = { ...settings, concurrency };
  const python = pythonModel(model, ofProcess, note);
  return modelOfWorker(name, { name: shownName, model: python, settings: ofProcess }, note);
}

function onnxModel(
  { file }: ModelOfWorker,
  { concurrency, resources, timeoutMs }: RunnerSettings,
  note: (line: string) => void,
): TensorModel {
  const onThreadDeath = (error: Error) => note(error.message);
  return new OnnxModel({ file, concurrency, resources, timeoutMs, onThreadDeath });
}

function pythonModel(
  { file, object }: ModelOfWorker,
  { python, replicas, concurrency, resources, timeoutMs }: RunnerSettings,
  note: (line: string) => void,
): TensorModel {
  const onProcessDeath = (error: Error) => note(error.message);
  return new PythonModel({
    file,
    object,
    python,
    replicas,
    concurrency,
    resources,
    timeoutMs,
    log: note,
    onProcessDeath,
  });
}
