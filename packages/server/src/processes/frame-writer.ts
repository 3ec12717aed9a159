/**
 * Puts all messages of one turn of the event loop into one frame, because a frame costs far more than a
 * message in it. The turn ends with `setImmediate`, not with a microtask: those run after each socket's
 * callback, so that requests of different connections would never share a frame.
 */
import type { Writable } from 'node:stream';
import { DefaultSerializer } from 'node:v8';
import { BatchwiseError, type Clock, realClock } from 'batchwise';
import { MAX_BACKLOG_BYTES, MAX_FRAME_BYTES, PREFIX_BYTES } from './frame-limits.js';

export interface FrameWriterOptions {
  /** Called with a message that cannot be sent, and why; all others of its frame are sent. */
  readonly onUnsendable: (message: unknown, error: Error) => void;
  /** Called before a frame is made, for what may travel with it. */
  readonly beforeFrame?: ((messages: unknown[]) => void) | undefined;
  readonly maxFrameBytes?: number | undefined;
  readonly maxBacklogBytes?: number | undefined;
  readonly clock?: Clock | undefined;
}

const PREFIX = Buffer.alloc(PREFIX_BYTES);

export class FrameWriter {
  readonly #stream: Writable;
  readonly #options: FrameWriterOptions;
  readonly #maxFrameBytes: number;
  readonly #maxBacklogBytes: number;
  readonly #clock: Clock;
  readonly #onTurnEnd = (): void => this.flush();
  #messages: unknown[] = [];

  constructor(stream: Writable, options: FrameWriterOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#maxFrameBytes = options.maxFrameBytes ?? MAX_FRAME_BYTES;
    this.#maxBacklogBytes = options.maxBacklogBytes ?? MAX_BACKLOG_BYTES;
    this.#clock = options.clock ?? realClock;
  }

  /** The peer reads slower than we write: what is not yet accepted should wait elsewhere. */
  get isCongested(): boolean {
    return this.#stream.writableLength > this.#maxBacklogBytes;
  }

  send(message: unknown): void {
    if (this.#messages.push(message) === 1) this.#clock.defer(this.#onTurnEnd);
  }

  flush(): void {
    const messages = this.#messages;
    if (messages.length === 0) return;
    this.#messages = [];
    if (!this.#stream.writable) return;
    this.#options.beforeFrame?.(messages);
    this.#write(messages);
  }

  /** In halves when it is too large as a whole, or when something in it cannot be sent. */
  #write(messages: readonly unknown[]): void {
    let frame: Buffer;
    try {
      frame = this.#frameOf(messages);
    } catch (error) {
      if (messages.length === 1) {
        this.#options.onUnsendable(messages[0], error as Error);
        return;
      }
      const half = messages.length >> 1;
      this.#write(messages.slice(0, half));
      this.#write(messages.slice(half));
      return;
    }
    this.#stream.write(frame);
  }

  #frameOf(messages: readonly unknown[]): Buffer {
    // The default serializer writes of a view into a larger buffer only what it shows.
    const serializer = new DefaultSerializer();
    serializer.writeRawBytes(PREFIX);
    serializer.writeHeader();
    serializer.writeValue(messages);
    const frame = serializer.releaseBuffer();
    const length = frame.length - PREFIX_BYTES;
    if (length > this.#maxFrameBytes) {
      const message = `it takes ${length} bytes, and a frame may have ${this.#maxFrameBytes}.`;
      throw new BatchwiseError('INVALID_ITEM', message);
    }
    frame.writeUInt32LE(length, 0);
    return frame;
  }
}
