/** The loads between two dispatches of a loader, and each of them. */
import { BatchwiseError, type Sink } from 'batchwise';
import type { RunInContext } from './async-context.js';

/** Loads that are dispatched together. */
export class Frame<K, V> {
  readonly loads: Load<K, V>[] = [];
  isDispatched = false;
  /** The async context in which it was dispatched. */
  run: RunInContext = (call) => call();
  readonly #cacheHits: (() => void)[] = [];

  /**
   * A load that was found in the cache is answered together with the loads of its frame that were not. Otherwise
   * what the callers load next would be spread over two frames.
   */
  addCacheHit(answer: () => void): void {
    this.#cacheHits.push(answer);
  }

  answerCacheHits(): void {
    if (this.#cacheHits.length === 0) return;
    for (const answer of this.#cacheHits.splice(0)) answer();
  }
}

/** One load that was not found in the cache: the item that the batcher gets, and where its answer goes. */
export class Load<K, V> implements Sink<undefined> {
  readonly promise: Promise<V>;
  readonly key: K;
  readonly frame: Frame<K, V>;
  readonly #uncache: (key: K) => unknown;
  #resolve: (value: V) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #value: V | Error | undefined = undefined;
  #hasValue = false;

  constructor(key: K, frame: Frame<K, V>, uncache: (key: K) => unknown) {
    this.key = key;
    this.frame = frame;
    this.#uncache = uncache;
    this.promise = new Promise<V>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /**
   * Takes the value of the batch function; returns the result for the batcher. The value itself does not pass through
   * the batcher, which rejects values that are promises. DataLoader waits for them.
   */
  answerWith(value: V | Error): undefined | Error {
    this.#value = value;
    this.#hasValue = true;
    return value instanceof Error ? value : undefined;
  }

  resolve(): void {
    this.frame.answerCacheHits();
    this.#resolve(this.#value as V);
  }

  /** An error of the key stays in the cache. When the batch failed, or the load was rejected by the batcher, the next load tries again. */
  reject(error: Error): void {
    this.frame.answerCacheHits();
    if (this.#hasValue) {
      this.#reject(error);
      return;
    }
    this.#uncache(this.key);
    const isBatchError = error instanceof BatchwiseError && error.code === 'HANDLER_FAILED';
    this.#reject(isBatchError ? error.cause : error);
  }
}
