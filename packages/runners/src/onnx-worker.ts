/** One worker thread of an ONNX model, from start to end. It runs one request at a time. */
import { Worker } from 'node:worker_threads';
import { BatchwiseError } from 'batchwise';
import { type ModelWorker, type WorkerEvents, workerEndedError } from './model-worker-slot.js';
import type { OnnxReply, OnnxThreadData, SentTensor, Unusable } from './onnx-messages.js';
import { packTensors, unpackTensors } from './onnx-tensors.js';
import type { Tensors } from './tensor.js';
import type { InferCall } from './tensor-model.js';

interface PendingRequest {
  resolve(outputs: readonly SentTensor[]): void;
  reject(error: Error): void;
}

export class OnnxWorker implements ModelWorker {
  readonly #worker: Worker;
  readonly #data: OnnxThreadData;
  readonly #events: WorkerEvents;
  #outputs: readonly string[] = [];
  #pending: PendingRequest | undefined = undefined;
  #hasEnded = false;

  constructor(thread: URL, workerData: OnnxThreadData, events: WorkerEvents) {
    this.#data = workerData;
    this.#events = events;
    // Disables the telemetry of the runtime. Its native library reads the environment of the process; a thread has
    // only a copy.
    process.env.ORT_DISABLE_TELEMETRY ??= '1';
    this.#worker = new Worker(thread, { workerData, name: 'batchwise model' });
    this.#worker.on('message', (reply: OnnxReply) => this.#onReply(reply));
    this.#worker.on('messageerror', (error) => this.#end(error));
    this.#worker.on('error', (error) => this.#end(error));
    this.#worker.on('exit', (code) => this.#end(new Error(`exit code ${code}`)));
  }

  get hasRoom(): boolean {
    return this.#pending === undefined;
  }

  async run(inputs: Tensors, { outputs = this.#outputs, ownsInputs }: InferCall): Promise<Tensors> {
    const { sent, transferred } = packTensors(inputs, ownsInputs);
    const answer = await new Promise<readonly SentTensor[]>((resolve, reject) => {
      this.#worker.postMessage({ inputs: sent, outputs }, transferred);
      this.#pending = { resolve, reject };
    });
    return unpackTensors(answer);
  }

  /**
   * Terminates the thread. Resolves when it has ended, or immediately if a request is in flight: native code cannot
   * be interrupted, and terminating its thread would crash the process when the code returns. The thread is then
   * terminated after its reply.
   */
  async kill(error: Error): Promise<void> {
    const isIdle = this.hasRoom;
    this.#end(error);
    if (isIdle) {
      await this.#worker.terminate();
      return;
    }
    this.#worker.unref();
    this.#worker.once('message', () => void this.#worker.terminate());
  }

  #onReply(reply: OnnxReply): void {
    if (this.#hasEnded) return;
    switch (reply.kind) {
      case 'ready':
        this.#outputs = reply.signature.outputs.map(({ name }) => name);
        this.#events.started({ signature: reply.signature });
        return;
      case 'unusable':
        this.#end(unusableError(this.#data, reply));
        void this.#worker.terminate();
        return;
      case 'answer':
        this.#takePending()?.resolve(reply.outputs);
        return;
      case 'failure':
        this.#takePending()?.reject(new Error(reply.message));
    }
  }

  #takePending(): PendingRequest | undefined {
    const pending = this.#pending;
    this.#pending = undefined;
    return pending;
  }

  #end(error: Error): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#events.ended(error);
    this.#takePending()?.reject(workerEndedError('thread', error));
  }
}

function unusableError({ file, gpu }: OnnxThreadData, { what, message }: Unusable): BatchwiseError {
  const cause = new Error(message);
  switch (what) {
    case 'model':
      return new BatchwiseError('INVALID_OPTION', `${file} cannot be served: ${message}`, { cause });
    case 'gpu':
      return new BatchwiseError(
        'INVALID_OPTION',
        `${file} cannot be run on GPU ${gpu}: ${message}. Either the device does not exist or this onnxruntime-node ` +
          "has no CUDA provider: on Linux x64 'npm rebuild onnxruntime-node --ignore-scripts=false' fetches it " +
          '(it needs CUDA 12 and cuDNN 9). Without resources.gpu the model runs on the CPU.',
        { cause },
      );
    case 'missing':
      return new BatchwiseError(
        'UNAVAILABLE',
        `${file} needs the package onnxruntime-node, which is not installed. Run ` +
          "'npm install --ignore-scripts onnxruntime-node@1.30': it contains the runtime for CPUs, and its install " +
          'script would download the one for GPUs.',
        { cause },
      );
    case 'runtime':
      return new BatchwiseError(
        'UNAVAILABLE',
        `${file} needs the package onnxruntime-node, which cannot be loaded: ${message}. It has binaries for ` +
          'Linux with glibc, Windows, and macOS on Apple silicon.',
        { cause },
      );
  }
}
