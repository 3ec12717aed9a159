const LEAST_BLOCK_BYTES = 1024;
const MOST_BLOCK_BYTES = 16 * 1024;

/**
 * What has come for a stream that is paused. It is copied together: thousands of small pieces would each take more memory
 * than they have bytes, and one of them would keep everything that was read with it.
 */
export class HeldBytes {
  #blocks: Buffer[] = [];
  #bytes = 0;
  /** Of the last block. */
  #filled = 0;

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(bytes: Buffer): void {
    const last = this.#blocks.at(-1);
    const taken = last === undefined ? 0 : bytes.copy(last, this.#filled);
    this.#filled += taken;
    if (taken < bytes.length) this.#addBlock(taken === 0 ? bytes : bytes.subarray(taken));
    this.#bytes += bytes.length;
  }

  /** The first of them, as many as lie together. */
  shift(): Buffer | undefined {
    const block = this.#blocks.shift();
    if (block === undefined) return undefined;
    const first = this.#blocks.length === 0 ? block.subarray(0, this.#filled) : block;
    this.#bytes -= first.length;
    return first;
  }

  #addBlock(bytes: Buffer): void {
    const room = Math.min(MOST_BLOCK_BYTES, Math.max(LEAST_BLOCK_BYTES, this.#bytes));
    const block = Buffer.allocUnsafeSlow(Math.max(room, bytes.length));
    block.set(bytes);
    this.#blocks.push(block);
    this.#filled = bytes.length;
  }
}
