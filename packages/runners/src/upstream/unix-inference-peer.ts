/**
 * A model process that was started elsewhere and listens on a Unix socket: `batchwise.serve(model, path)` in Python, or
 * another program with the wire format of docs/reference/wire.md, "Model processes".
 */
import { connect } from 'node:net';
import { BatchwiseError, type Clock, realClock } from 'batchwise';
import type { StartedModel } from '../model-worker-slot.js';
import { ModelConnection } from '../python/model-connection.js';
import { TracebackLog } from '../python/traceback-log.js';
import type { Signature, Tensors } from '../tensor.js';
import type { InferCall } from '../tensor-model.js';
import {
  abandoned,
  answered,
  connectionLoss,
  deadlineExceeded,
  failed,
  type Outcome,
  outage,
} from './outcome.js';
import { shownUrl } from './upstream-address.js';
import type { InferencePeer } from './upstream-peer.js';

export interface UnixInferencePeerOptions {
  readonly url: string;
  /** The path of the socket. */
  readonly path: string;
  /** Called for each line of the traceback of an exception of the model. */
  readonly log?: ((line: string) => void) | undefined;
  /** @default the real clock */
  readonly clock?: Clock | undefined;
}

interface OpenConnection {
  readonly connection: ModelConnection;
  readonly ready: Promise<StartedModel>;
  /** Rejects `ready` if the model is not ready yet. */
  readonly fail: (error: Error) => void;
}

/** Rejects the batches of a lost connection. */
class ConnectionLost extends Error {}

export class UnixInferencePeer implements InferencePeer {
  readonly platform = 'upstream_unix';
  readonly place: string;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #tracebacks: TracebackLog;
  readonly #listeners: ((error: Error | undefined) => void)[] = [];
  #open: OpenConnection | undefined = undefined;

  constructor({ url, path, log = () => {}, clock = realClock }: UnixInferencePeerOptions) {
    this.place = shownUrl(url);
    this.#path = path;
    this.#clock = clock;
    this.#tracebacks = new TracebackLog(log, clock);
  }

  async checkReady(timeoutMs: number): Promise<void> {
    await this.#ready(timeoutMs);
  }

  async signature(timeoutMs: number): Promise<Signature> {
    return (await this.#ready(timeoutMs)).signature;
  }

  async infer(inputs: Tensors, call: InferCall): Promise<Outcome<Tensors>> {
    const { signal, timeoutMs } = call;
    const startedAt = this.#clock.now();
    this.#open ??= this.#connect();
    const open = this.#open;
    try {
      await this.#ready(timeoutMs);
      if (this.#open !== open) throw new ConnectionLost('the connection was lost');
    } catch (error) {
      return outage(
        new BatchwiseError('UNAVAILABLE', connectionLoss(error as Error), { cause: error }),
        true,
      );
    }
    if (signal?.aborted) return abandoned();
    const { connection } = open;
    return new Promise((resolve) => {
      const onTimeout = () => {
        // The connection has no way to cancel a batch, and a process that hangs answers nothing else either.
        this.#lose(connection, new ConnectionLost('the model did not respond in time'));
        settle(deadlineExceeded(timeoutMs));
      };
      const leftMs = Math.max(0, timeoutMs - (this.#clock.now() - startedAt));
      const timer = this.#clock.setTimer(onTimeout, leftMs);
      const onAbort = () => settle(abandoned());
      const settle = (outcome: Outcome<Tensors>) => {
        this.#clock.clearTimer(timer);
        signal?.removeEventListener('abort', onAbort);
        resolve(outcome);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      connection.infer(inputs, call).then(
        (outputs) => settle(answered(outputs)),
        (error: Error) =>
          settle(error instanceof ConnectionLost ? outage(lossError(error), false) : failed(error)),
      );
    });
  }

  onConnectionChange(listener: (error: Error | undefined) => void): void {
    this.#listeners.push(listener);
  }

  async close(): Promise<void> {
    if (this.#open !== undefined) this.#lose(this.#open.connection, new ConnectionLost('closed'));
  }

  /** Connects if necessary. Rejects if the model is not ready after `timeoutMs`. */
  #ready(timeoutMs: number): Promise<StartedModel> {
    this.#open ??= this.#connect();
    const { connection, ready } = this.#open;
    return new Promise((resolve, reject) => {
      const timer = this.#clock.setTimer(() => {
        this.#lose(
          connection,
          new ConnectionLost(`the model was not ready within ${Math.round(timeoutMs)} ms`),
        );
      }, timeoutMs);
      ready.then(resolve, reject).finally(() => this.#clock.clearTimer(timer));
    });
  }

  #connect(): OpenConnection {
    let onReady: (model: StartedModel) => void = () => {};
    let fail: (error: Error) => void = () => {};
    const ready = new Promise<StartedModel>((resolve, reject) => {
      onReady = resolve;
      fail = reject;
    });
    ready.catch(() => {}); // each call reports it
    const connection = new ModelConnection(connect(this.#path), {
      ready: (model) => {
        onReady(model);
        for (const listener of this.#listeners) listener(undefined);
      },
      raised: (traceback) => this.#tracebacks.write(traceback),
      lost: (error) => {
        fail(error);
        this.#lose(connection, new ConnectionLost(error.message, { cause: error.cause ?? error }));
      },
    });
    return { connection, ready, fail };
  }

  #lose(connection: ModelConnection, error: ConnectionLost): void {
    const open = this.#open;
    if (open?.connection !== connection) return;
    this.#open = undefined;
    open.fail(error);
    connection.end(() => error);
    for (const listener of this.#listeners) listener(error);
  }
}

function lossError(error: ConnectionLost): BatchwiseError {
  return new BatchwiseError('UNAVAILABLE', connectionLoss(error.cause as Error | undefined), {
    cause: error,
  });
}
