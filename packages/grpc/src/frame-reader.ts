import { PREFIX_BYTES } from './frame.js';
import { GrpcError } from './grpc-error.js';
import { STATUS } from './status.js';

const EMPTY: Buffer = Buffer.alloc(0);
const LEAST_ROOM_BYTES = 1024;
const GROWTH = 4;
const TOO_LARGE = -1;
/** What announces more is no message, and what follows it not worth waiting for. */
const MOST_UNWANTED_BYTES = 64 * 1024 * 1024;

/**
 * Cuts a stream of chunks into frames. A frame that lies within one chunk is a view of that chunk; one
 * that is spread over several is gathered in a buffer that grows with what has come, not with what the
 * prefix announces: a peer gets no memory for a promise, and a message in a million pieces holds no million
 * pieces. A message that is too large is an error, or, for who wants to hear of it, passed over.
 */
export class FrameReader {
  readonly #maxMessageBytes: number;
  readonly #onFrame: (frame: Buffer) => void;
  readonly #onTooLarge: ((error: GrpcError) => void) | undefined;
  #prefix: Buffer | undefined;
  #prefixBytes = 0;
  #buffer: Buffer = EMPTY;
  #gathered = 0;
  /** Of the frame that is being gathered, with its prefix; 0 between frames and while the prefix is incomplete. */
  #frameBytes = 0;
  /** What is still to come of a message that is passed over. */
  #unwantedBytes = 0;

  constructor(
    maxMessageBytes: number,
    onFrame: (frame: Buffer) => void,
    onTooLarge?: (error: GrpcError) => void,
  ) {
    this.#maxMessageBytes = maxMessageBytes;
    this.#onFrame = onFrame;
    this.#onTooLarge = onTooLarge;
  }

  /** False while a frame has begun and is not complete: an end of the stream would cut it off. */
  get isBetweenFrames(): boolean {
    return this.#prefixBytes === 0 && this.#frameBytes === 0 && this.#unwantedBytes === 0;
  }

  /** How much is held of a frame that is not complete. */
  get heldBytes(): number {
    return this.#prefixBytes + this.#buffer.length;
  }

  /** Throws RESOURCE_EXHAUSTED for a message that is too large and not to be passed over, INTERNAL for a flag that gRPC does not know. */
  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#unwantedBytes > 0) rest = this.#passOver(rest);
      else if (this.#frameBytes > 0) rest = this.#gather(rest);
      else if (this.#prefixBytes > 0 || rest.length < PREFIX_BYTES) rest = this.#gatherPrefix(rest);
      else rest = this.#cut(rest);
    }
  }

  /** At the start of a frame, its whole prefix in view. */
  #cut(chunk: Buffer): Buffer {
    const frameBytes = this.#checkedSize(chunk);
    if (frameBytes === TOO_LARGE) return chunk.subarray(PREFIX_BYTES);
    if (chunk.length === frameBytes) {
      this.#onFrame(chunk);
      return EMPTY;
    }
    if (chunk.length > frameBytes) {
      this.#onFrame(chunk.subarray(0, frameBytes));
      return chunk.subarray(frameBytes);
    }
    this.#frameBytes = frameBytes;
    this.#keep(chunk);
    return EMPTY;
  }

  /** The prefix itself is cut: rare, and never more than five bytes. */
  #gatherPrefix(chunk: Buffer): Buffer {
    this.#prefix ??= Buffer.allocUnsafe(PREFIX_BYTES);
    const taken = chunk.copy(this.#prefix, this.#prefixBytes, 0, PREFIX_BYTES - this.#prefixBytes);
    this.#prefixBytes += taken;
    if (this.#prefixBytes < PREFIX_BYTES) return EMPTY;
    const prefix = this.#prefix;
    this.#prefix = undefined;
    this.#prefixBytes = 0;
    const frameBytes = this.#checkedSize(prefix);
    if (frameBytes === PREFIX_BYTES) {
      this.#onFrame(prefix);
    } else if (frameBytes !== TOO_LARGE) {
      this.#frameBytes = frameBytes;
      this.#keep(prefix);
    }
    return chunk.subarray(taken);
  }

  #gather(chunk: Buffer): Buffer {
    const missing = this.#frameBytes - this.#gathered;
    if (chunk.length < missing) {
      this.#keep(chunk);
      return EMPTY;
    }
    this.#keep(chunk.length === missing ? chunk : chunk.subarray(0, missing));
    const frame = this.#buffer;
    this.#buffer = EMPTY;
    this.#gathered = 0;
    this.#frameBytes = 0;
    this.#onFrame(frame);
    return chunk.subarray(missing);
  }

  #keep(chunk: Buffer): void {
    const gathered = this.#gathered + chunk.length;
    if (gathered > this.#buffer.length) this.#grow(gathered);
    this.#buffer.set(chunk, this.#gathered);
    this.#gathered = gathered;
  }

  #grow(gathered: number): void {
    const room = Math.min(this.#frameBytes, Math.max(LEAST_ROOM_BYTES, gathered * GROWTH));
    const buffer = Buffer.allocUnsafeSlow(room);
    buffer.set(this.#buffer.subarray(0, this.#gathered));
    this.#buffer = buffer;
  }

  #passOver(chunk: Buffer): Buffer {
    const passed = Math.min(chunk.length, this.#unwantedBytes);
    this.#unwantedBytes -= passed;
    return chunk.subarray(passed);
  }

  /** Of the frame; or TOO_LARGE, for one that is passed over from here on. */
  #checkedSize(prefix: Buffer): number {
    const flag = prefix[0];
    if (flag !== 0 && flag !== 1) {
      throw new GrpcError(
        STATUS.INTERNAL,
        `expected a message with the flag byte 0 (uncompressed) or 1 (compressed), got ${flag}`,
      );
    }
    const messageBytes = prefix.readUInt32BE(1);
    if (messageBytes > this.#maxMessageBytes) {
      const error = new GrpcError(
        STATUS.RESOURCE_EXHAUSTED,
        `expected a message of at most ${this.#maxMessageBytes} bytes, got ${messageBytes}`,
      );
      if (this.#onTooLarge === undefined || messageBytes > MOST_UNWANTED_BYTES) throw error;
      this.#unwantedBytes = messageBytes;
      this.#onTooLarge(error);
      return TOO_LARGE;
    }
    return PREFIX_BYTES + messageBytes;
  }
}
