const MOST = 1024;

/**
 * Streams that this side has ended before the peer had: what the peer has sent by then still comes, and is no fault of its.
 * Of those that are forgotten again, as of all below them, it is not known any more whose fault a late frame is.
 */
export class CutOffStreams {
  readonly #ids = new Set<number>();
  #forgotten = 0;

  add(id: number): void {
    this.#ids.add(id);
    if (this.#ids.size <= MOST) return;
    const [oldest = 0] = this.#ids;
    this.delete(oldest);
    this.#forgotten = Math.max(this.#forgotten, oldest);
  }

  /** Whether the peer may still send something for it. */
  has(id: number): boolean {
    return id <= this.#forgotten || this.#ids.has(id);
  }

  /** The peer has ended it, too. */
  delete(id: number): void {
    this.#ids.delete(id);
  }
}
