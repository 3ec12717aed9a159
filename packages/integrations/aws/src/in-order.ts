/**
 * Runs calls that share a key one after the other, in the order in which they were made, and others at the same time.
 * Batches run concurrently; writes of one key, and messages of one group, must not overtake each other.
 */
export class InOrder {
  readonly #lastByKey = new Map<string, Promise<void>>();

  async run<R>(keys: Iterable<string>, call: () => Promise<R>): Promise<R> {
    const ownKeys = [...keys];
    const earlier = ownKeys.flatMap((key) => this.#lastByKey.get(key) ?? []);
    const running = earlier.length === 0 ? call() : Promise.all(earlier).then(call);
    const ended = running.then(
      () => {},
      () => {},
    );
    for (const key of ownKeys) this.#lastByKey.set(key, ended);
    try {
      return await running;
    } finally {
      for (const key of ownKeys) if (this.#lastByKey.get(key) === ended) this.#lastByKey.delete(key);
    }
  }
}
