import type { VirtualClock } from 'batchwise';
import type { InferCall, Signature, Tensors } from '../../src/index.js';
import {
  type ModelWorker,
  notStartedError,
  type WorkerEvents,
  workerEndedError,
} from '../../src/model-worker-slot.js';
import { floats, numbersOf } from './fake-model.js';

export const ECHO: Signature = {
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1] }],
  outputs: [{ name: 'y', datatype: 'FP32', shape: [-1] }],
};

/** A batch with this value is never answered. */
export const HANG = -1;
/** A batch with this value ends the worker. */
export const CRASH = -2;

interface SentBatch {
  readonly value: number;
  resolve(outputs: Tensors): void;
  reject(error: Error): void;
}

export interface FakeWorkerOptions {
  readonly clock: VirtualClock;
  /** How long the start takes. Infinity: it never ends. */
  readonly startMs: number;
  readonly batchMs: number;
}

/** A worker on virtual time that runs one batch at a time, in order, and reads one ahead, as a Python process does. */
export class FakeWorker implements ModelWorker {
  readonly #options: FakeWorkerOptions;
  readonly #events: WorkerEvents;
  #batches: SentBatch[] = [];
  #hasEnded = false;

  constructor(options: FakeWorkerOptions, events: WorkerEvents) {
    this.#options = options;
    this.#events = events;
    const { clock, startMs } = options;
    if (startMs === Number.POSITIVE_INFINITY) return;
    clock.setTimer(() => {
      if (!this.#hasEnded) events.started({ signature: ECHO });
    }, startMs);
  }

  get hasRoom(): boolean {
    return this.#batches.length < 2;
  }

  run(inputs: Tensors, _call: InferCall): Promise<Tensors> {
    const [value = 0] = numbersOf(inputs.get('x'));
    return new Promise((resolve, reject) => {
      this.#batches.push({ value, resolve, reject });
      if (this.#batches.length === 1) this.#begin();
    });
  }

  async kill(error: Error): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#events.ended(error);
    const [first, ...ahead] = this.#batches.splice(0);
    first?.reject(workerEndedError('process', error));
    for (const { reject } of ahead) reject(notStartedError('process'));
  }

  #begin(): void {
    const [batch] = this.#batches;
    if (batch === undefined || batch.value === HANG) return;
    const { clock, batchMs } = this.#options;
    clock.setTimer(() => {
      if (this.#hasEnded) return;
      if (batch.value === CRASH) {
        void this.kill(new Error('crashed'));
        return;
      }
      this.#batches.shift();
      batch.resolve(new Map([['y', floats([1], [batch.value])]]));
      this.#begin();
    }, batchMs);
  }
}
