/** The digits model as the rest of the example sees it: an async function over an array of digits. */
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { ModelReply, ModelRequest, ModelWorkerData } from './model-worker.js';
import { SetupError } from './setup-error.js';

const PIXELS = 8 * 8;
const CLASSES = 10;

const RESTORE_MODEL = "It belongs to the repository: restore it with 'git checkout -- models'.";
const INSTALL_RUNTIME =
  "The package onnxruntime-node is needed: run 'npm install' in the root of the repository.\n" +
  'It has binaries for Linux with glibc, Windows, and macOS on Apple silicon.';

interface Pending {
  resolve(labels: number[]): void;
  reject(error: Error): void;
}

export class DigitsModel {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #brokenBy: Error | undefined;

  static async load(file: URL): Promise<DigitsModel> {
    const modelPath = fileURLToPath(file);
    await access(modelPath).catch((error: Error) => {
      throw new SetupError(`Cannot read models/digits.onnx: ${error.message}\n${RESTORE_MODEL}`);
    });
    const workerData: ModelWorkerData = { modelPath };
    const worker = new Worker(new URL('./model-worker.js', import.meta.url), { workerData });
    const [first] = (await once(worker, 'message')) as [ModelReply];
    if (first.kind === 'unusable') {
      const advice = first.what === 'runtime' ? INSTALL_RUNTIME : RESTORE_MODEL;
      throw new SetupError(`The model cannot be run here: ${first.message}\n${advice}`);
    }
    return new DigitsModel(worker);
  }

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('message', (reply: ModelReply) => this.#settle(reply));
    worker.on('error', (error) => this.#breakDown(error));
    worker.on('exit', () => this.#breakDown(new Error('The thread of the model has ended.')));
  }

  /** One call of the model, whatever the number of digits. Labels come back in the order of the digits. */
  classify(digits: readonly Float32Array[]): Promise<number[]> {
    const pixels = new Float32Array(digits.length * PIXELS);
    for (const [row, digit] of digits.entries()) pixels.set(digit, row * PIXELS);
    this.#lastId += 1;
    const request: ModelRequest = { id: this.#lastId, rows: digits.length, pixels };
    return new Promise((resolve, reject) => {
      if (this.#brokenBy !== undefined) return reject(this.#brokenBy);
      this.#pending.set(request.id, { resolve, reject });
      this.#worker.postMessage(request, [pixels.buffer]);
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #settle(reply: ModelReply): void {
    if (reply.kind !== 'answer' && reply.kind !== 'failure') return;
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if (reply.kind === 'answer') pending?.resolve(labelsOf(reply.probabilities));
    else pending?.reject(new Error(`The model failed: ${reply.message}`));
  }

  #breakDown(error: Error): void {
    this.#brokenBy ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#brokenBy);
    this.#pending.clear();
  }
}

function labelsOf(probabilities: Float32Array): number[] {
  const labels: number[] = [];
  for (let start = 0; start < probabilities.length; start += CLASSES) {
    const row = probabilities.subarray(start, start + CLASSES);
    labels.push(row.indexOf(Math.max(...row)));
  }
  return labels;
}
