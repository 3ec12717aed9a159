/**
 * A slot for one thread of a model. When the thread ends unexpectedly, its request fails immediately. A new thread
 * starts after a delay, which doubles until a thread has completed a request.
 */
import { BatchwiseError, type Clock } from 'batchwise';
import type { OnnxRequest, OnnxThreadData, SentTensor } from './onnx-messages.js';
import { OnnxWorker, type Unusable } from './onnx-worker.js';
import type { Signature } from './tensor.js';
import type { InferCall } from './tensor-model.js';

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;

/** The events of a slot for its model. */
export interface SlotOwner {
  readonly clock: Clock;
  /** The thread has started. */
  slotReady(slot: OnnxThreadSlot): void;
  /** The slot has no thread until the restart. */
  slotLost(slot: OnnxThreadSlot, error: Error): void;
}

export class OnnxThreadSlot {
  readonly id: string;
  isLive = false;
  readonly #owner: SlotOwner;
  readonly #thread: URL;
  readonly #threadData: OnnxThreadData;
  #worker: OnnxWorker | undefined = undefined;
  #isClosed = false;
  /** Threads that ended since the last completed request. */
  #failures = 0;
  #pause: unknown = undefined;

  constructor(id: string, owner: SlotOwner, thread: URL, threadData: OnnxThreadData) {
    this.id = id;
    this.#owner = owner;
    this.#thread = thread;
    this.#threadData = threadData;
  }

  get isIdle(): boolean {
    return this.isLive && this.#worker?.isBusy === false;
  }

  /** The threads of the slot keep ending before they complete a request, so requests fail instead of being queued. */
  get isBroken(): boolean {
    return !this.isLive && this.#failures > 1;
  }

  /** Starts the first thread. No restart is attempted if that fails. */
  start(): Promise<Signature> {
    return new Promise((resolve, reject) => {
      this.#begin(resolve, (error, unusable) => {
        this.#isClosed = true;
        reject(startError(this.#threadData, error, unusable));
      });
    });
  }

  async run(
    request: OnnxRequest,
    transferred: ArrayBuffer[],
    { signal, timeoutMs }: Pick<InferCall, 'signal' | 'timeoutMs'>,
  ): Promise<readonly SentTensor[]> {
    const worker = this.#worker;
    if (worker === undefined || !this.isIdle) throw notStartedError();
    const { clock } = this.#owner;
    const startedAt = clock.now();
    let timer: unknown;
    // A request without callers may finish within `timeoutMs`, because a restart costs more. No timer is needed while
    // there are callers.
    const onAbort = (): void => {
      const kill = () => void worker.kill(new Error(`no reply within ${timeoutMs} ms; terminated`));
      // At once, because the batcher regards the thread as free.
      if (isTimeout(signal?.reason)) kill();
      else timer = clock.setTimer(kill, Math.max(0, startedAt + timeoutMs - clock.now()));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const outputs = await worker.run(request, transferred);
      this.#failures = 0;
      return outputs;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      clock.clearTimer(timer);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#owner.clock.clearTimer(this.#pause);
    await this.#worker?.kill(new BatchwiseError('CLOSED', `${this.#threadData.file}: the model is closed.`));
  }

  #begin(
    onStart: (signature: Signature) => void,
    onFailedStart?: (error: Error, unusable: Unusable | undefined) => void,
  ): void {
    const worker = new OnnxWorker(this.#thread, this.#threadData, {
      started: (signature) => {
        this.isLive = true;
        onStart(signature);
        this.#owner.slotReady(this);
      },
      ended: (error, unusable) => {
        const hadStarted = this.isLive;
        this.#worker = undefined;
        this.isLive = false;
        if (!hadStarted) onFailedStart?.(error, unusable);
        if (!this.#isClosed) this.#restart(error);
      },
    });
    this.#worker = worker;
  }

  #restart(error: Error): void {
    const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#pause = this.#owner.clock.setTimer(() => this.#begin(() => {}), pauseMs);
    this.#owner.slotLost(this, error);
  }
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof BatchwiseError && reason.code === 'HANDLER_TIMEOUT';
}

/** The batch returns to the queue. */
function notStartedError(): BatchwiseError {
  const message = 'the thread of the model ended before it received the batch.';
  return new BatchwiseError('UNAVAILABLE', message, { notStarted: true });
}

function startError(
  { file, gpu }: OnnxThreadData,
  error: Error,
  unusable: Unusable | undefined,
): BatchwiseError {
  const { message } = error;
  switch (unusable?.what) {
    case 'model':
      return new BatchwiseError('INVALID_OPTION', `${file} cannot be served: ${message}`, { cause: error });
    case 'gpu':
      return new BatchwiseError(
        'INVALID_OPTION',
        `${file} cannot be run on GPU ${gpu}: ${message}. Either the device does not exist or this onnxruntime-node ` +
          "has no CUDA provider: on Linux x64 'npm rebuild onnxruntime-node --ignore-scripts=false' fetches it " +
          '(it needs CUDA 12 and cuDNN 9). Without resources.gpu the model runs on the CPU.',
        { cause: error },
      );
    case 'runtime':
      return new BatchwiseError(
        'UNAVAILABLE',
        `${file} needs the package onnxruntime-node, which cannot be loaded: ${message}. It has binaries for ` +
          'Linux with glibc, Windows, and macOS on Apple silicon.',
        { cause: error },
      );
    default:
      return new BatchwiseError(
        'UNAVAILABLE',
        `${file}: the thread of the model ended during its start: ${message}`,
        {
          cause: error,
        },
      );
  }
}
