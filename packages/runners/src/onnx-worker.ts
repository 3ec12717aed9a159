/** One worker thread of a model, from start to end. It runs one request at a time. */
import { Worker } from 'node:worker_threads';
import { BatchwiseError } from 'batchwise';
import type { OnnxReply, OnnxRequest, OnnxThreadData, SentTensor } from './onnx-messages.js';
import type { Signature } from './tensor.js';

export type Unusable = Extract<OnnxReply, { kind: 'unusable' }>;

interface PendingRequest {
  resolve(outputs: readonly SentTensor[]): void;
  reject(error: Error): void;
}

/** Each event is emitted at most once, and none after the end. */
export interface ThreadEvents {
  started(signature: Signature): void;
  /** The thread ended unexpectedly, was terminated, or could not start. */
  ended(error: Error, unusable: Unusable | undefined): void;
}

export class OnnxWorker {
  readonly #worker: Worker;
  readonly #events: ThreadEvents;
  #pending: PendingRequest | undefined = undefined;
  #hasEnded = false;

  constructor(thread: URL, workerData: OnnxThreadData, events: ThreadEvents) {
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

  get isBusy(): boolean {
    return this.#pending !== undefined;
  }

  /** Rejects with the error of the model, or with the reason why the thread ended. */
  run(request: OnnxRequest, transferred: ArrayBuffer[]): Promise<readonly SentTensor[]> {
    return new Promise((resolve, reject) => {
      this.#worker.postMessage(request, transferred);
      this.#pending = { resolve, reject };
    });
  }

  /**
   * Terminates the thread. Resolves when it has ended, or immediately if a request is in flight: native code cannot
   * be interrupted, and terminating its thread would crash the process when the code returns. The thread is then
   * terminated after its reply.
   */
  async kill(error: Error): Promise<void> {
    const { isBusy } = this;
    this.#end(error);
    if (!isBusy) {
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
        this.#events.started(reply.signature);
        return;
      case 'unusable':
        this.#end(new Error(reply.message), reply);
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

  #end(error: Error, unusable?: Unusable): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#events.ended(error, unusable);
    this.#takePending()?.reject(error instanceof BatchwiseError ? error : threadEndedError(error));
  }
}

function threadEndedError(cause: Error): BatchwiseError {
  const message = `the thread of the model ended during this batch: ${cause.message}`;
  return new BatchwiseError('UNAVAILABLE', message, { cause });
}
