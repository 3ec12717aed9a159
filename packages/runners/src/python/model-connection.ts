/** A connection to the process of a model: sends batches and settles each exactly once. */
import type { Duplex } from 'node:stream';
import { BatchwiseError } from 'batchwise';
import type { StartedModel } from '../model-worker-slot.js';
import { malformed } from '../open-inference/message-error.js';
import { signatureOfJson } from '../open-inference/metadata-message.js';
import type { Tensors } from '../tensor.js';
import type { InferCall } from '../tensor-model.js';
import { encodeFrame, type Frame, FrameReader, tensorsOf } from './model-frame.js';

/** `ready` and `lost` are emitted at most once, `lost` last. */
export interface ConnectionEvents {
  ready(model: StartedModel): void;
  /** The model raised an exception in a batch. */
  raised(traceback: string): void;
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
  #isReady = false;
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

  get isLost(): boolean {
    return this.#isLost;
  }

  async infer(inputs: Tensors, call: Pick<InferCall, 'outputs' | 'onRowError'>): Promise<Tensors> {
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
      case 'ready': {
        if (this.#isReady) throw malformed('kind', 'expected ready only once.');
        const model = readyModel(frame);
        this.#isReady = true;
        this.#events.ready(model);
        return;
      }
      case 'failed':
        if (this.#isReady) throw malformed('kind', 'expected no failed after ready.');
        this.#lose(startFailure(frame));
        return;
      case 'result':
        this.#onResult(frame);
        return;
      case 'error': {
        const error = errorOf(frame.header);
        const pending = this.#take(frame);
        const { traceback } = frame.header;
        if (typeof traceback === 'string') this.#events.raised(traceback);
        pending.reject(error);
        return;
      }
      default:
        throw malformed('kind', `expected ready, failed, result or error, got ${JSON.stringify(kind)}.`);
    }
  }

  #onResult(frame: Frame): void {
    // All of the message is checked before the batch is settled.
    const outputs = tensorsOf(frame);
    const errors = rowErrorsOf(frame, outputs);
    const { call, resolve } = this.#take(frame);
    for (const [row, error] of errors) call.onRowError?.(row, error);
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

function readyModel(frame: Frame): StartedModel {
  const { version } = frame.header;
  if (version !== VERSION) throw malformed('version', `expected ${VERSION}, got ${version}.`);
  const example = tensorsOf(frame);
  return {
    signature: signatureOfJson(frame.header),
    example: example.size === 0 ? undefined : example,
  };
}

/** The start failed for a reason that the user can fix. The traceback follows the message. */
function startFailure({ header }: Frame): BatchwiseError {
  const { message, traceback } = header;
  const details = typeof traceback === 'string' ? `\n${traceback.trimEnd()}` : '';
  return new BatchwiseError('INVALID_OPTION', `${message}${details}`);
}

function rowErrorsOf({ header: { errors = [] } }: Frame, outputs: Tensors): (readonly [number, Error])[] {
  if (!Array.isArray(errors)) throw malformed('errors', 'expected a list.');
  const rows = Math.min(...[...outputs.values()].map(({ shape }) => shape[0] ?? 0));
  return errors.map((error, index) => {
    const row = error?.row;
    if (Number.isSafeInteger(row) && row >= 0 && row < rows) return [row, errorOf(error)];
    throw malformed(`errors[${index}].row`, `expected a row of the outputs, got ${JSON.stringify(row)}.`);
  });
}

/** An error of the model. Its traceback is not part of it, because the log has it already. */
function errorOf({ code, message }: Readonly<Record<string, unknown>>): Error {
  if (typeof message !== 'string')
    throw malformed('message', `expected a text, got ${JSON.stringify(message)}.`);
  if (code === 'INVALID_ITEM' || code === 'BAD_RESULT') return new BatchwiseError(code, message);
  const error = new Error(message);
  error.name = 'PythonError';
  error.stack = message;
  return error;
}
