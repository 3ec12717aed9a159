import { ERROR_CODE } from './error-code.js';
import { DEFAULT_MAX_PAYLOAD_BYTES, FRAME_HEAD_BYTES } from './frame-type.js';
import { Http2Fault } from './http2-fault.js';

export type OnHttp2Frame = (type: number, flags: number, streamId: number, payload: Buffer) => void;

const EMPTY: Buffer = Buffer.alloc(0);
const STREAM_ID = 0x7fffffff;

/**
 * Cuts what a socket reads into frames of HTTP/2. A payload that lies within one chunk is a view of it; of one that
 * does not, as much is held as has been announced, which is 16 KiB at most.
 */
export class FrameDecoder {
  readonly #onFrame: OnHttp2Frame;
  #isStopped = false;
  /** The head alone until it is complete, then the whole frame. */
  #partial: Buffer = EMPTY;
  #filled = 0;

  constructor(onFrame: OnHttp2Frame) {
    this.#onFrame = onFrame;
  }

  /** What is left of the chunk that is being read, and all that follows, is thrown away. */
  stop(): void {
    this.#isStopped = true;
    this.#partial = EMPTY;
    this.#filled = 0;
  }

  /** Throws for a frame that is longer than we allow, and whatever its receiver throws. */
  push(chunk: Buffer): void {
    let at = this.#filled > 0 ? this.#fill(chunk) : 0;
    while (!this.#isStopped && chunk.length - at >= FRAME_HEAD_BYTES) {
      const end = at + frameBytes(chunk, at);
      if (end > chunk.length) break;
      this.#give(chunk, at, end);
      at = end;
    }
    if (!this.#isStopped && at < chunk.length) this.#hold(chunk, at);
  }

  #give(bytes: Buffer, at: number, end: number): void {
    this.#onFrame(
      bytes[at + 3] as number,
      bytes[at + 4] as number,
      bytes.readUInt32BE(at + 5) & STREAM_ID,
      bytes.subarray(at + FRAME_HEAD_BYTES, end),
    );
  }

  /** Completes the frame that has begun, as far as the chunk goes; returns where the next one starts. */
  #fill(chunk: Buffer): number {
    let at = 0;
    if (this.#filled < FRAME_HEAD_BYTES) {
      at = this.#take(chunk, at, FRAME_HEAD_BYTES);
      if (this.#filled < FRAME_HEAD_BYTES) return at;
      const head = this.#partial;
      this.#partial = Buffer.allocUnsafeSlow(frameBytes(head, 0));
      this.#partial.set(head.subarray(0, FRAME_HEAD_BYTES));
    }
    at = this.#take(chunk, at, this.#partial.length);
    if (this.#filled < this.#partial.length) return at;
    const frame = this.#partial;
    this.#partial = EMPTY;
    this.#filled = 0;
    this.#give(frame, 0, frame.length);
    return at;
  }

  #take(chunk: Buffer, at: number, wanted: number): number {
    const end = Math.min(chunk.length, at + wanted - this.#filled);
    this.#partial.set(chunk.subarray(at, end), this.#filled);
    this.#filled += end - at;
    return end;
  }

  #hold(chunk: Buffer, at: number): void {
    const rest = chunk.length - at;
    const isHeadThere = rest >= FRAME_HEAD_BYTES;
    this.#partial = Buffer.allocUnsafeSlow(isHeadThere ? frameBytes(chunk, at) : FRAME_HEAD_BYTES);
    this.#partial.set(chunk.subarray(at));
    this.#filled = rest;
  }
}

function frameBytes(bytes: Buffer, at: number): number {
  const payloadBytes = bytes.readUIntBE(at, 3);
  if (payloadBytes > DEFAULT_MAX_PAYLOAD_BYTES) {
    throw new Http2Fault(
      ERROR_CODE.FRAME_SIZE_ERROR,
      `expected a frame of at most ${DEFAULT_MAX_PAYLOAD_BYTES} bytes, got ${payloadBytes}`,
    );
  }
  return FRAME_HEAD_BYTES + payloadBytes;
}
