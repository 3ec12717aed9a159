/**
 * Cuts a stream of bytes into frames: a length in four bytes, then an array of messages.
 * Chunks may hold parts of a frame or many of them.
 */
import { deserialize } from 'node:v8';
import { BatchwiseError } from 'batchwise';
import { MAX_FRAME_BYTES, PREFIX_BYTES } from './frame-limits.js';

export class FrameReader {
  readonly #maxFrameBytes: number;
  readonly #prefix = Buffer.alloc(PREFIX_BYTES);
  #prefixFilled = 0;
  /** The frame that came only in part so far. */
  #body: Buffer | undefined;
  #bodyFilled = 0;

  constructor(maxFrameBytes = MAX_FRAME_BYTES) {
    this.#maxFrameBytes = maxFrameBytes;
  }

  /**
   * Calls back with the messages of each frame that is now complete; throws on what is no frame. Arrays
   * may be views of what the socket gave: whoever keeps one keeps all that, and none may be transferred to a thread.
   */
  push(chunk: Buffer, onMessages: (messages: readonly unknown[]) => void): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#body === undefined) {
        at += this.#readPrefix(chunk, at);
        if (this.#prefixFilled < PREFIX_BYTES) return;
        const length = this.#frameLength();
        // A frame that lies in the chunk as a whole is read where it is.
        if (chunk.length - at >= length) {
          this.#prefixFilled = 0;
          at += length;
          onMessages(messagesOf(chunk.subarray(at - length, at)));
          continue;
        }
        this.#body = Buffer.allocUnsafeSlow(length);
        this.#bodyFilled = 0;
      }
      at += this.#readBody(this.#body, chunk, at, onMessages);
    }
  }

  /** Throws when the stream ended within a frame. */
  end(): void {
    if (this.#body !== undefined) {
      const { length } = this.#body;
      throw broken(`it ended within a frame, after ${this.#bodyFilled} of ${length} bytes`);
    }
    if (this.#prefixFilled > 0) throw broken('it ended within the length of a frame');
  }

  #readPrefix(chunk: Buffer, at: number): number {
    const taken = chunk.copy(this.#prefix, this.#prefixFilled, at, at + PREFIX_BYTES - this.#prefixFilled);
    this.#prefixFilled += taken;
    return taken;
  }

  #frameLength(): number {
    const length = this.#prefix.readUInt32LE(0);
    if (length > 0 && length <= this.#maxFrameBytes) return length;
    throw broken(`expected a frame of 1 to ${this.#maxFrameBytes} bytes, got one of ${length}`);
  }

  #readBody(
    body: Buffer,
    chunk: Buffer,
    at: number,
    onMessages: (messages: readonly unknown[]) => void,
  ): number {
    const taken = chunk.copy(body, this.#bodyFilled, at);
    this.#bodyFilled += taken;
    if (this.#bodyFilled < body.length) return taken;
    this.#body = undefined;
    this.#prefixFilled = 0;
    onMessages(messagesOf(body));
    return taken;
  }
}

function messagesOf(frame: Buffer): readonly unknown[] {
  let messages: unknown;
  try {
    messages = deserialize(frame);
  } catch (cause) {
    throw broken(`a frame of ${frame.length} bytes cannot be read`, cause);
  }
  if (Array.isArray(messages)) return messages;
  throw broken(`expected an array of messages in a frame, got ${typeof messages}`);
}

function broken(what: string, cause?: unknown): BatchwiseError {
  const message = `The connection between two processes is broken: ${what}.`;
  return new BatchwiseError('UNAVAILABLE', message, cause === undefined ? {} : { cause });
}
