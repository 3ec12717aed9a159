/** One worker thread of a model, from start to end. It runs one request at a time. */
import { Worker } from 'node:worker_threads';
import { BatchwiseError } from 'batchwise';
import type { OnnxReply, OnnxRequest, OnnxThreadData, SentTensor } from './onnx-messages.js';
import type { Signature } from './tensor.js';

export type Unusable = Extract<OnnxReply, { kind: 'unusable' }>;

interface Waiting {
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
  #waiting: Waiting | undefined = undefined;
  #isOver = false;

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
    return this.#waiting !== undefined;
  }

  /** Rejects with the error of the model, or with the reason why the thread ended. */
  run(request: OnnxRequest, transferred: ArrayBuffer[]): Promise<readonly SentTensor[]> {
    return new Promise((resolve, reject) => {
      this.#worker.postMessage(request, transferred);
      this.#waiting = { resolve, reject };
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
    if (this.#isOver) return;
    switch (reply.kind) {
      case 'ready':
        this.#events.started(reply.signature);
        return;
      case 'unusable':
        this.#end(new Error(reply.message), reply);
        void this.#worker.terminate();
        return;
      case 'answer':
        this.#settled()?.resolve(reply.outputs);
        return;
      case 'failure':
        this.#settled()?.reject(new Error(reply.message));
    }
  }

  #settled(): Waiting | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }

  #end(error: Error, unusable?: Unusable): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#events.ended(error, unusable);
    this.#settled()?.reject(error instanceof BatchwiseError ? error : threadEndedError(error));
  }
}

export function threadEndedError(cause: Error): BatchwiseError {
  const message = `the thread of the model ended during this batch: ${cause.message}`;
  return new BatchwiseError('UNAVAILABLE', message, { cause });
}
