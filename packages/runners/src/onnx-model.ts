/** An ONNX model on its own worker threads, one per concurrent batch. */
import type { BatchwiseError, Clock } from 'batchwise';
import { OnnxWorker } from './onnx-worker.js';
import type { ResourceSettings } from './runner-settings.js';
import { SupervisedModel } from './supervised-model.js';

export interface OnnxModelOptions {
  /** The path of the .onnx file. */
  readonly file: string;
  /**
   * The number of threads, each with its own session.
   * @default 1
   */
  readonly concurrency?: number | undefined;
  /**
   * `cpu`: the number of cores for one batch, 1 by default. More cores make large models faster, but the runtime
   * busy-waits and takes CPU time from the threads that serve connections. `gpu`: the threads are distributed over
   * these devices.
   * @default one core, no GPU
   */
  readonly resources?: Partial<ResourceSettings> | undefined;
  /**
   * The timeout of requests. The model is unavailable after it has had no live thread for so long.
   * @default 30000
   */
  readonly timeoutMs?: number | undefined;
  /** Called for each thread that ended unexpectedly. A replacement is being started. */
  readonly onThreadDeath?: ((error: BatchwiseError) => void) | undefined;
  /** @default the real clock */
  readonly clock?: Clock | undefined;
  /**
   * The program of the threads.
   * @default the one that runs onnxruntime-node
   */
  readonly thread?: URL | undefined;
}

/** The compiled thread is next to the compiled version of this file. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? '../dist/onnx-thread.js' : './onnx-thread.js',
  import.meta.url,
);

export class OnnxModel extends SupervisedModel {
  constructor({
    file,
    concurrency = 1,
    resources = {},
    timeoutMs,
    onThreadDeath,
    clock,
    thread = THREAD,
  }: OnnxModelOptions) {
    const { cpu = 1, gpu = [] } = resources;
    super({
      platform: 'onnxruntime_onnx',
      file,
      unit: 'thread',
      workers: concurrency,
      slotsPerWorker: 1,
      readsAhead: false,
      onWorkerDeath: onThreadDeath,
      timeoutMs,
      clock,
      start: (index, events) => {
        // The runtime takes a whole number of threads.
        const intraOpThreads = Math.max(1, Math.round(cpu ?? 1));
        return new OnnxWorker(thread, { file, intraOpThreads, gpu: gpu[index % gpu.length] }, events);
      },
    });
  }
}
