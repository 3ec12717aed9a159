/** An ONNX model on worker threads of its own: one for each batch that may run at a time. */
import { stat } from 'node:fs/promises';
import { BatchwiseError, type Clock, realClock } from 'batchwise';
import { packTensors, unpackTensors } from './onnx-tensors.js';
import { OnnxThreadSlot, type SlotOwner } from './onnx-thread-slot.js';
import type { ResourceSettings } from './runner-settings.js';
import type { Signature, Tensors } from './tensor.js';
import type { InferCall, TensorModel } from './tensor-model.js';

export interface OnnxModelOptions {
  /** The path of the .onnx file. */
  readonly file: string;
  /**
   * How many threads, each with a session of its own.
   * @default 1
   */
  readonly concurrency?: number | undefined;
  /**
   * `cpu`: how many cores one batch may use, 1 unless given; more make large models quicker, but wait
   * actively and take the core from those who serve the sockets. `gpu`: the threads are spread over these.
   * @default one core, no device
   */
  readonly resources?: Partial<ResourceSettings> | undefined;
  /** Told of each thread that died; another is on its way. */
  readonly onThreadDeath?: ((error: BatchwiseError) => void) | undefined;
  /** @default the real one */
  readonly clock?: Clock | undefined;
  /**
   * The program of the threads.
   * @default the one that runs onnxruntime-node
   */
  readonly thread?: URL | undefined;
}

/** Next to this file once it is compiled; the sources have it compiled elsewhere. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? '../dist/onnx-thread.js' : './onnx-thread.js',
  import.meta.url,
);

interface Waiting {
  readonly signal: AbortSignal | undefined;
  resolve(slot: OnnxThreadSlot): void;
  reject(error: Error): void;
}

export class OnnxModel implements TensorModel, SlotOwner {
  readonly platform = 'onnxruntime_onnx';
  readonly clock: Clock;
  readonly #file: string;
  readonly #slots: readonly OnnxThreadSlot[];
  readonly #onThreadDeath: ((error: BatchwiseError) => void) | undefined;
  /** Longest idle first, so that all of them are warm. */
  readonly #idle: OnnxThreadSlot[] = [];
  #waiting: Waiting[] = [];
  #outputs: readonly string[] = [];
  #isClosed = false;

  constructor({ file, concurrency = 1, resources = {}, onThreadDeath, clock, thread }: OnnxModelOptions) {
    this.#file = file;
    this.clock = clock ?? realClock;
    this.#onThreadDeath = onThreadDeath;
    const { cpu = 1, gpu = [] } = resources;
    this.#slots = Array.from({ length: concurrency }, (_, index) => {
      const device = gpu[index % gpu.length];
      // The runtime takes whole threads; a share of a core is one that is often elsewhere.
      const intraOpThreads = Math.max(1, Math.round(cpu ?? 1));
      return new OnnxThreadSlot(this, thread ?? THREAD, { file, intraOpThreads, gpu: device });
    });
  }

  async load(): Promise<Signature> {
    await this.#checkFile();
    try {
      if (this.#isClosed) throw this.#closedError();
      const signatures = await Promise.all(this.#slots.map((slot) => slot.start()));
      const signature = signatures[0] as Signature;
      this.#outputs = signature.outputs.map(({ name }) => name);
      return signature;
    } catch (error) {
      const wasClosed = this.#isClosed;
      await this.close();
      throw wasClosed ? this.#closedError() : error;
    }
  }

  async infer(inputs: Tensors, call: InferCall): Promise<Tensors> {
    const { sent, transferred } = packTensors(inputs, call.ownsInputs);
    const slot = this.#idle.shift() ?? (await this.#slotFor(call.signal));
    const answer = await slot.run(
      { inputs: sent, outputs: call.outputs ?? this.#outputs },
      transferred,
      call,
    );
    return unpackTensors(answer);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#refuseWaiting(this.#closedError());
    await Promise.all(this.#slots.map((slot) => slot.close()));
  }

  slotFreed(slot: OnnxThreadSlot): void {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if (next.signal?.aborted) {
        next.reject(next.signal.reason);
        continue;
      }
      next.resolve(slot);
      return;
    }
    this.#idle.push(slot);
  }

  slotLost(slot: OnnxThreadSlot, error: Error): void {
    const index = this.#idle.indexOf(slot);
    if (index >= 0) this.#idle.splice(index, 1);
    if (this.#isBroken) this.#refuseWaiting(this.#brokenError());
    const message = `${this.#file}: a thread of the model died: ${error.message}`;
    this.#onThreadDeath?.(new BatchwiseError('UNAVAILABLE', message, { cause: error }));
  }

  #slotFor(signal: AbortSignal | undefined): Promise<OnnxThreadSlot> {
    if (this.#isClosed) return Promise.reject(this.#closedError());
    if (this.#isBroken) return Promise.reject(this.#brokenError());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ signal, resolve, reject });
    });
  }

  get #isBroken(): boolean {
    return this.#slots.every(({ isBroken }) => isBroken);
  }

  #refuseWaiting(error: Error): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error);
  }

  #brokenError(): BatchwiseError {
    const message = `${this.#file}: the threads of the model die again and again; another is being tried.`;
    return new BatchwiseError('UNAVAILABLE', message);
  }

  #closedError(): BatchwiseError {
    return new BatchwiseError('CLOSED', `${this.#file}: the model is closed.`);
  }

  async #checkFile(): Promise<void> {
    let isFile: boolean;
    try {
      isFile = (await stat(this.#file)).isFile();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const why = code === 'ENOENT' ? 'there is no such file' : message;
      throw new BatchwiseError('INVALID_OPTION', `${this.#file} cannot be served: ${why}.`, { cause: error });
    }
    if (!isFile) throw new BatchwiseError('INVALID_OPTION', `${this.#file} cannot be served: it is no file.`);
  }
}
