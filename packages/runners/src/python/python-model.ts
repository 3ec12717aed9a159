/** A Python model in its own processes: `model.py`, with a class or a function. */
import { type BatchwiseError, type Clock, realClock } from 'batchwise';
import type { ResourceSettings } from '../runner-settings.js';
import { SupervisedModel } from '../supervised-model.js';
import { ModelProcess } from './model-process.js';
import { findInterpreter } from './python-interpreter.js';

export interface PythonModelOptions {
  /** The path of the Python file. */
  readonly file: string;
  /** The class, function or variable in the file. Default: the only one. */
  readonly object?: string | undefined;
  /**
   * An interpreter, or the folder of a virtual environment.
   * @default the active virtual environment, else `.venv` next to the model, else `python3`
   */
  readonly python?: string | undefined;
  /**
   * The number of processes, each with a copy of the model.
   * @default 1
   */
  readonly replicas?: number | undefined;
  /**
   * The number of batches that each process runs at a time, on threads.
   * @default 1
   */
  readonly concurrency?: number | undefined;
  /**
   * `gpu`: the processes are distributed over these devices (`CUDA_VISIBLE_DEVICES`). `cpu`: the number of threads of
   * numerical libraries.
   * @default as in the environment
   */
  readonly resources?: Partial<ResourceSettings> | undefined;
  /**
   * The timeout of requests. The model is unavailable after it has had no live process for so long.
   * @default 30000
   */
  readonly timeoutMs?: number | undefined;
  /** Called for each line that the processes print, and for each line of the traceback of an exception. */
  readonly log?: ((line: string) => void) | undefined;
  /** Called for each process that ended unexpectedly. A replacement is being started. */
  readonly onProcessDeath?: ((error: BatchwiseError) => void) | undefined;
  /** @default the real clock */
  readonly clock?: Clock | undefined;
}

export class PythonModel extends SupervisedModel {
  constructor(options: PythonModelOptions) {
    const { file, object, replicas = 1, concurrency = 1, resources = {}, clock = realClock } = options;
    const { log = () => {}, onProcessDeath, timeoutMs } = options;
    const python = findInterpreter(options.python, file);
    super({
      platform: 'python',
      file,
      unit: 'process',
      workers: replicas,
      slotsPerWorker: concurrency,
      readsAhead: true,
      onWorkerDeath: onProcessDeath,
      timeoutMs,
      clock,
      start: (index, events) => {
        const env = environmentOf(resources, index);
        const logLine = replicas === 1 ? log : (line: string) => log(`process ${index}: ${line}`);
        const process = { python, file, object, concurrency, env, log: logLine, clock };
        return new ModelProcess(process, events);
      },
    });
  }
}

const THREAD_VARIABLES = ['OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'];

function environmentOf({ cpu, gpu = [] }: Partial<ResourceSettings>, index: number): Record<string, string> {
  const env: Record<string, string> = {};
  if (cpu !== undefined) for (const name of THREAD_VARIABLES) env[name] = String(cpu);
  if (gpu.length > 0) {
    const device = gpu[index % gpu.length] as number;
    // A scheduler such as Slurm may have assigned devices to the server.
    const visible = process.env.CUDA_VISIBLE_DEVICES?.split(',');
    env.CUDA_VISIBLE_DEVICES = visible?.[device] ?? String(device);
  }
  return env;
}
