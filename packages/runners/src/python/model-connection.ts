/** A connection to the process of a model: sends batches and settles each exactly once. */
import type { Duplex } from 'node:stream';
import { BatchwiseError } from 'batchwise';
import type { StartedModel } from '../model-worker-slot.js';
import { malformed } from '../open-inference/message-error.js';
import { signatureOfJson } from '../open-inference/metadata-message.js';
import type { Tensors } from '../tensor.js';
import type { InferCall } from '../tensor-model.js';
import { encodeFrame, type Frame, FrameReader, tensorsOf } from './model-frame.js';

export interface ReadyModel extends StartedModel {
  /** The number of batches that the model runs at a time. */
  readonly concurrency: number;
}

/** Each event is emitted at most once, `lost` last. */
export interface ConnectionEvents {
  ready(model: ReadyModel): void;
  /**
   * The connection was lost, the model failed to start, or it sent an invalid message. The owner calls `end()` when it
   * knows the reason.
   */
  lost(error: Error): void;
}

interface PendingBatch {
  readonly call: Pick<InferCall, 'onRowError'>;
  resolve(outputs: Tensors): void;
  reject(error: Error): void;
}

const VERSION = 1;

export class ModelConnection {
  readonly #socket: Duplex;
  readonly #events: ConnectionEvents;
  readonly #frames = new FrameReader();
  /** By id, in the order of sending. */
  readonly #pending = new Map<number, PendingBatch>();
  #nextId = 1;
  #isLost = false;

  constructor(socket: Duplex, events: ConnectionEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => this.#lose(error));
    socket.on('close', () => this.#lose(new Error('the connection was closed')));
  }

  /** Batches without a response. */
  get inFlight(): number {
    return this.#pending.size;
  }

  infer(inputs: Tensors, call: Pick<InferCall, 'outputs' | 'onRowError'>): Promise<Tensors> {
    const id = this.#nextId++;
    const { outputs } = call;
    const frame = encodeFrame({ kind: 'infer', id, ...(outputs && { outputs }) }, inputs);
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { call, resolve, reject });
      this.#send(frame);
    });
  }

  /** Asks the model to end after the batches that it has. */
  close(): void {
    this.#send(encodeFrame({ kind: 'close' }));
  }

  /** Ends the connection and fails its batches. `errorOf` gets the position of a batch in the order of sending. */
  end(errorOf: (position: number) => Error): void {
    this.#isLost = true;
    this.#socket.destroy();
    let position = 0;
    for (const { reject } of this.#pending.values()) reject(errorOf(position++));
    this.#pending.clear();
  }

  #lose(error: Error): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#events.lost(error);
  }

  #send(chunks: readonly Buffer[]): void {
    this.#socket.cork();
    for (const chunk of chunks) this.#socket.write(chunk);
    this.#socket.uncork();
  }

  #read(chunk: Buffer): void {
    try {
      this.#frames.push(chunk, (frame) => {
        if (!this.#isLost) this.#onFrame(frame);
      });
    } catch (error) {
      this.#lose(new Error(`it sent an invalid message: ${(error as Error).message}`, { cause: error }));
    }
  }

  #onFrame(frame: Frame): void {
    const { kind } = frame.header;
    switch (kind) {
      case 'ready':
        this.#events.ready(readyModel(frame));
        return;
      case 'failed':
        this.#lose(startFailure(frame));
        return;
      case 'result':
        this.#onResult(frame);
        return;
      case 'error':
        this.#take(frame).reject(errorOf(frame.header));
        return;
      default:
        throw malformed('kind', `expected ready, failed, result or error, got ${JSON.stringify(kind)}.`);
    }
  }

  #onResult(frame: Frame): void {
    const outputs = tensorsOf(frame);
    const { call, resolve } = this.#take(frame);
    const { errors = [] } = frame.header;
    if (!Array.isArray(errors)) throw malformed('errors', 'expected a list.');
    for (const error of errors) call.onRowError?.(Number(error.row), errorOf(error));
    resolve(outputs);
  }

  #take({ header }: Frame): PendingBatch {
    const pending = this.#pending.get(header.id as number);
    if (pending === undefined)
      throw malformed('id', `expected the id of a batch in flight, got ${header.id}.`);
    this.#pending.delete(header.id as number);
    return pending;
  }
}

function readyModel(frame: Frame): ReadyModel {
  const { version, concurrency } = frame.header;
  if (version !== VERSION) throw malformed('version', `expected ${VERSION}, got ${version}.`);
  const example = tensorsOf(frame);
  return {
    signature: signatureOfJson(frame.header),
    example: example.size === 0 ? undefined : example,
    concurrency: Math.max(1, Number(concurrency) || 1),
  };
}

/** The start failed for a reason that the user can fix. The traceback follows the message. */
function startFailure({ header }: Frame): BatchwiseError {
  const { message, traceback } = header;
  const details = typeof traceback === 'string' ? `\n${traceback.trimEnd()}` : '';
  return new BatchwiseError('INVALID_OPTION', `${message}${details}`);
}

/** An error of the model. Its traceback is in the log and not in the response. */
function errorOf({ code, message, traceback }: Readonly<Record<string, unknown>>): Error {
  const text = String(message);
  if (code === 'INVALID_ITEM' || code === 'BAD_RESULT') return new BatchwiseError(code, text);
  const error = new Error(text);
  error.name = 'PythonError';
  error.stack = typeof traceback === 'string' ? traceback.trimEnd() : text;
  return error;
}
