import { windowUpdate } from './frame-encoder.js';

/** How much a peer may still send, on a stream or on all of them together. It is told of new room in halves. */
export class ReceiveWindow {
  readonly #streamId: number;
  readonly #size: number;
  #left: number;
  #freed = 0;

  constructor(streamId: number, size: number) {
    this.#streamId = streamId;
    this.#size = size;
    this.#left = size;
  }

  /** False when the peer sends more than it was allowed. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /** The frame that tells the peer of it, once it is worth one. */
  free(bytes: number): Buffer | undefined {
    this.#freed += bytes;
    if (2 * this.#freed < this.#size) return undefined;
    const increment = this.#freed;
    this.#left += increment;
    this.#freed = 0;
    return windowUpdate(this.#streamId, increment);
  }
}
