/** One thread of a model, from its start to its end. It takes one request at a time. */
import { Worker } from 'node:worker_threads';
import { BatchwiseError } from 'batchwise';
import type { OnnxReply, OnnxRequest, OnnxThreadData, SentTensor } from './onnx-messages.js';
import type { Signature } from './tensor.js';

export type Unusable = Extract<OnnxReply, { kind: 'unusable' }>;

interface Waiting {
  resolve(outputs: readonly SentTensor[]): void;
  reject(error: Error): void;
}

/** Each is told once at most, and nothing after the end. */
export interface ThreadEvents {
  started(signature: Signature): void;
  /** Died, was killed, or could not start. */
  ended(error: Error, unusable: Unusable | undefined): void;
}

export class OnnxThreadLife {
  readonly #worker: Worker;
  readonly #events: ThreadEvents;
  #waiting: Waiting | undefined = undefined;
  #isOver = false;

  constructor(thread: URL, workerData: OnnxThreadData, events: ThreadEvents) {
    this.#events = events;
    // The runtime would write down, and send to its makers, what it is used for. Its library reads the
    // environment of the process, of which a thread's is only a copy.
    process.env.ORT_DISABLE_TELEMETRY ??= '1';
    this.#worker = new Worker(thread, { workerData, name: 'batchwise model' });
    this.#worker.on('message', (reply: OnnxReply) => this.#heard(reply));
    this.#worker.on('messageerror', (error) => this.#end(error));
    this.#worker.on('error', (error) => this.#end(error));
    this.#worker.on('exit', (code) => this.#end(new Error(`it ended with exit code ${code}`)));
  }

  get isBusy(): boolean {
    return this.#waiting !== undefined;
  }

  /** Rejects with the model's error, or with what ended the thread. */
  run(request: OnnxRequest, transferred: ArrayBuffer[]): Promise<readonly SentTensor[]> {
    return new Promise((resolve, reject) => {
      this.#worker.postMessage(request, transferred);
      this.#waiting = { resolve, reject };
    });
  }

  /**
   * Ends it, whatever it does. Resolves when it is gone, or at once when it is in the midst of a request:
   * code of the runtime cannot be interrupted, and were its thread ended meanwhile, it would take the whole
   * process with it on its return. So the thread is ended when it has answered.
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

  #heard(reply: OnnxReply): void {
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
    this.#settled()?.reject(error instanceof BatchwiseError ? error : diedError(error));
  }
}

export function diedError(cause: Error): BatchwiseError {
  const message = `the thread of the model died with this batch: ${cause.message}`;
  return new BatchwiseError('UNAVAILABLE', message, { cause });
}
