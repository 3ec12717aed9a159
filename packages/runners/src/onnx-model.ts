/** An ONNX model on its own worker threads, one per concurrent batch. */
import { stat } from 'node:fs/promises';
import { BackendSet, BatchwiseError, type Clock, type Handler, realClock } from 'batchwise';
import { packTensors, unpackTensors } from './onnx-tensors.js';
import { OnnxThreadSlot, type SlotOwner } from './onnx-thread-slot.js';
import type { ResourceSettings } from './runner-settings.js';
import type { Signature, Tensors } from './tensor.js';
import type { InferCall, TensorModel } from './tensor-model.js';

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

export class OnnxModel implements TensorModel, SlotOwner {
  readonly platform = 'onnxruntime_onnx';
  readonly clock: Clock;
  readonly #file: string;
  readonly #slots: readonly OnnxThreadSlot[];
  readonly #onThreadDeath: ((error: BatchwiseError) => void) | undefined;
  #backends: BackendSet | undefined = undefined;
  #outputs: readonly string[] = [];
  #isClosed = false;

  constructor({ file, concurrency = 1, resources = {}, onThreadDeath, clock, thread }: OnnxModelOptions) {
    this.#file = file;
    this.clock = clock ?? realClock;
    this.#onThreadDeath = onThreadDeath;
    const { cpu = 1, gpu = [] } = resources;
    this.#slots = Array.from({ length: concurrency }, (_, index) => {
      const device = gpu[index % gpu.length];
      // The runtime takes a whole number of threads.
      const intraOpThreads = Math.max(1, Math.round(cpu ?? 1));
      return new OnnxThreadSlot(`thread ${index}`, this, thread ?? THREAD, {
        file,
        intraOpThreads,
        gpu: device,
      });
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

  get backendIds(): readonly string[] {
    return this.#slots.map(({ id }) => id);
  }

  createBackends<I, R>(run: Handler<I, R>, clock: Clock): BackendSet<I, R> {
    const backends = this.#slots.map(({ id }) => ({ id, slots: 1, run }));
    // The slots report their health. Errors of the model are no evidence about its thread.
    const set = new BackendSet(backends, { maxFailures: Number.POSITIVE_INFINITY, clock });
    this.#backends = set;
    for (const slot of this.#slots) this.#reportHealth(slot);
    return set;
  }

  async infer(inputs: Tensors, call: InferCall): Promise<Tensors> {
    if (this.#isClosed) throw this.#closedError();
    const { sent, transferred } = packTensors(inputs, call.ownsInputs);
    const isChosen = ({ id, isIdle }: OnnxThreadSlot) =>
      call.backend === undefined ? isIdle : id === call.backend;
    const slot = this.#slots.find(isChosen) ?? (this.#slots[0] as OnnxThreadSlot);
    const answer = await slot.run(
      { inputs: sent, outputs: call.outputs ?? this.#outputs },
      transferred,
      call,
    );
    return unpackTensors(answer);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#slots.map((slot) => slot.close()));
  }

  slotReady(slot: OnnxThreadSlot): void {
    this.#reportHealth(slot);
  }

  slotLost(slot: OnnxThreadSlot, error: Error): void {
    this.#reportHealth(slot);
    const message = `${this.#file}: a thread of the model ended: ${error.message}`;
    this.#onThreadDeath?.(new BatchwiseError('UNAVAILABLE', message, { cause: error }));
  }

  /** Requests are queued until a thread has restarted, unless all threads keep failing. */
  #reportHealth({ id, isLive, isBroken }: OnnxThreadSlot): void {
    const message = `${this.#file}: the threads of the model keep failing; a restart is pending.`;
    this.#backends?.setHealth(
      id,
      isLive || (isBroken && 'unreachable'),
      new BatchwiseError('UNAVAILABLE', message),
    );
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
    if (!isFile)
      throw new BatchwiseError('INVALID_OPTION', `${this.#file} cannot be served: it is not a file.`);
  }
}
