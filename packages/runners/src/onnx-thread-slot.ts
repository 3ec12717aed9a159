/**
 * A place for one thread of a model. When the thread dies, what it was computing fails at once and another
 * is started after a pause that doubles with each death until one has served again.
 */
import { BatchwiseError, type Clock } from 'batchwise';
import type { OnnxRequest, OnnxThreadData, SentTensor } from './onnx-messages.js';
import { diedError, OnnxThreadLife, type Unusable } from './onnx-thread-life.js';
import type { Signature } from './tensor.js';
import type { InferCall } from './tensor-model.js';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

/** What the slot tells the model it belongs to. */
export interface SlotOwner {
  readonly clock: Clock;
  /** Its thread can take a request: it has started, or has answered the one before. */
  slotFreed(slot: OnnxThreadSlot): void;
  /** It has no thread any more; there will be another after the pause. */
  slotLost(slot: OnnxThreadSlot, error: Error): void;
}

export class OnnxThreadSlot {
  readonly #owner: SlotOwner;
  readonly #thread: URL;
  readonly #threadData: OnnxThreadData;
  #life: OnnxThreadLife | undefined = undefined;
  #isLive = false;
  #isClosed = false;
  /** Since one has served. */
  #deaths = 0;
  #pause: unknown = undefined;

  constructor(owner: SlotOwner, thread: URL, threadData: OnnxThreadData) {
    this.#owner = owner;
    this.#thread = thread;
    this.#threadData = threadData;
  }

  /** Its threads die without having served: what waits for the next one waits in vain. */
  get isBroken(): boolean {
    return !this.#isLive && this.#deaths > 1;
  }

  /** Starts the first thread. When that cannot be, no other is tried. */
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
    const life = this.#life;
    if (life === undefined) throw diedError(new Error('it ended before it got it'));
    const { clock } = this.#owner;
    const startedAt = clock.now();
    let timer: unknown;
    // Whose callers have gone away is let finish, in the time it has: starting anew would cost more. Before
    // they have, nothing needs to be watched.
    const onAbort = (): void => {
      timer = clock.setTimer(
        () => void life.kill(new Error(`it did not answer within ${timeoutMs} ms and was ended`)),
        Math.max(0, startedAt + timeoutMs - clock.now()),
      );
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const outputs = await life.run(request, transferred);
      this.#deaths = 0;
      return outputs;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      clock.clearTimer(timer);
      if (this.#life === life) this.#owner.slotFreed(this);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#owner.clock.clearTimer(this.#pause);
    await this.#life?.kill(new BatchwiseError('CLOSED', `${this.#threadData.file}: the model is closed.`));
  }

  #begin(
    onStart: (signature: Signature) => void,
    onFailedStart?: (error: Error, unusable: Unusable | undefined) => void,
  ): void {
    const life = new OnnxThreadLife(this.#thread, this.#threadData, {
      started: (signature) => {
        this.#isLive = true;
        onStart(signature);
        this.#owner.slotFreed(this);
      },
      ended: (error, unusable) => {
        const hadStarted = this.#isLive;
        this.#life = undefined;
        this.#isLive = false;
        if (!hadStarted) onFailedStart?.(error, unusable);
        if (!this.#isClosed) this.#died(error);
      },
    });
    this.#life = life;
  }

  #died(error: Error): void {
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#deaths);
    this.#deaths += 1;
    this.#pause = this.#owner.clock.setTimer(() => this.#begin(() => {}), pauseMs);
    this.#owner.slotLost(this, error);
  }
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
        `${file} cannot be run on GPU ${gpu}: ${message}. Either the device is not there or this onnxruntime-node ` +
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
      return new BatchwiseError('UNAVAILABLE', `${file}: its thread died while it started: ${message}`, {
        cause: error,
      });
  }
}
