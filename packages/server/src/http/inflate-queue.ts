/**
 * Whose turn it is to be decompressed. A small body may grow a thousandfold, and node:zlib works on all at once, each with
 * its memory, however few threads there are: a megabyte of pipelined requests took gigabytes. As many as there are
 * threads are as quick.
 */
export interface Inflating {
  /** Asked when it is its turn: its client may have gone. */
  isWanted(): boolean;
  /** Calls `ended` once, later. */
  start(ended: () => void): void;
}

/** The threads that node:zlib has unless it is told otherwise. */
const MOST_AT_ONCE = 4;

export class InflateQueue {
  #running = 0;
  readonly #waiting: Inflating[] = [];

  add(one: Inflating): void {
    this.#waiting.push(one);
    this.#next();
  }

  #next(): void {
    while (this.#running < MOST_AT_ONCE) {
      const one = this.#waiting.shift();
      if (one === undefined) return;
      if (!one.isWanted()) continue;
      this.#running += 1;
      one.start(this.#ended);
    }
  }

  readonly #ended = (): void => {
    this.#running -= 1;
    this.#next();
  };
}
