/**
 * A connection that carries messages both ways. It ends once, with the reason, whatever happens: the peer
 * goes, sends garbage, or we end it.
 */
import type { Socket } from 'node:net';
import { BatchwiseError, type Clock } from 'batchwise';
import { FrameReader } from './frame-reader.js';
import { FrameWriter } from './frame-writer.js';

export interface MessageLinkOptions {
  /** What it throws ends the connection, as garbage does. */
  readonly onMessage: (message: unknown) => void;
  readonly onUnsendable: (message: unknown, error: Error) => void;
  readonly beforeFrame?: ((messages: unknown[]) => void) | undefined;
  /** Called before `onEnd` when the peer sent what is no message. */
  readonly onFault?: ((error: Error) => void) | undefined;
  /** Called once; nothing comes after it. */
  readonly onEnd: (error: Error) => void;
  /** Reads on only when the peer has read enough of what was written to it; not on both sides, or both wait for ever. */
  readonly readsOnlyWhenRead?: boolean;
  readonly maxFrameBytes?: number | undefined;
  readonly maxBacklogBytes?: number | undefined;
  readonly clock?: Clock | undefined;
}

export class MessageLink {
  readonly #socket: Socket;
  readonly #options: MessageLinkOptions;
  readonly #reader: FrameReader;
  readonly #writer: FrameWriter;
  readonly #onMessages = (messages: readonly unknown[]): void => {
    for (const message of messages) {
      if (this.#isEnded) return;
      this.#options.onMessage(message);
    }
  };
  #isEnded = false;

  constructor(socket: Socket, options: MessageLinkOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#reader = new FrameReader(options.maxFrameBytes);
    this.#writer = new FrameWriter(socket, options);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('end', () => this.#readEnd());
    socket.on('error', (cause) => this.destroy(lost(cause)));
    socket.on('close', () => this.destroy(lost()));
    if (options.readsOnlyWhenRead) socket.on('drain', () => socket.resume());
  }

  get isCongested(): boolean {
    return this.#writer.isCongested;
  }

  /** It leaves with all others of this turn. What is sent once the connection has ended is dropped. */
  send(message: unknown): void {
    if (!this.#isEnded) this.#writer.send(message);
  }

  /** Ends it once all that was sent is on its way. */
  close(): void {
    if (this.#isEnded) return;
    this.#writer.flush();
    this.#socket.end();
    // A peer that hangs does not keep us from ending.
    this.#socket.unref();
    this.#end(lost());
  }

  destroy(error: Error): void {
    this.#socket.destroy();
    this.#end(error);
  }

  #read(chunk: Buffer): void {
    if (this.#isEnded) return;
    try {
      this.#reader.push(chunk, this.#onMessages);
    } catch (error) {
      this.#broken(error as Error);
    }
    if (this.#options.readsOnlyWhenRead && this.#writer.isCongested) this.#socket.pause();
  }

  #readEnd(): void {
    try {
      this.#reader.end();
      this.destroy(lost());
    } catch (error) {
      this.#broken(error as Error);
    }
  }

  #broken(error: Error): void {
    this.#options.onFault?.(error);
    this.destroy(error);
  }

  #end(error: Error): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#options.onEnd(error);
  }
}

function lost(cause?: Error): BatchwiseError {
  const because = cause === undefined ? '' : `: ${cause.message}`;
  const message = `The connection to another process of the server was lost${because}.`;
  return new BatchwiseError('UNAVAILABLE', message, cause === undefined ? {} : { cause });
}
