/** The interface and the behaviour of DataLoader 2; queue, limits and dispatch are the batcher's. */
import {
  type BatchContext,
  Batcher,
  type BatcherOptions,
  type BatcherStats,
  type CloseOptions,
  greedy,
  type Results,
} from 'batchwise';
import { currentContext } from './async-context.js';
import { Frame, Load } from './frame.js';
import { type BatchLoadFn, type DataLoaderOptions, type LoaderSettings, loaderSettings } from './options.js';

const EXPECTED =
  'DataLoader must be constructed with a function which accepts Array<key> and returns Promise<Array<value>>, but';

export class DataLoader<K, V, C = K> {
  /** The name given in the options. */
  name: string | null;

  readonly #batchLoadFn: BatchLoadFn<K, V>;
  readonly #settings: LoaderSettings<K, V, C>;
  readonly #clear = (key: K): unknown => this.clear(key);
  /** The last frame that was opened, and all that wait for their schedule function. */
  #frame: Frame<K, V> | undefined = undefined;
  readonly #undispatched = new Set<Frame<K, V>>();
  #madeBatcher: Batcher<Load<K, V>, undefined> | undefined = undefined;

  constructor(batchLoadFn: BatchLoadFn<K, V>, options?: DataLoaderOptions<K, V, C>) {
    if (typeof batchLoadFn !== 'function') throw new TypeError(`${EXPECTED} got: ${batchLoadFn}.`);
    this.#batchLoadFn = batchLoadFn;
    this.#settings = loaderSettings(options ?? {});
    this.name = this.#settings.name;
    // A batcher takes some 10 µs to make, and servers make loaders for each request that are never used. But a wrong
    // option is to be reported here.
    if (Object.keys(this.#settings.batcherOptions).length > 0) this.#madeBatcher = this.#newBatcher();
  }

  /** Promises the value of a key. */
  load(key: K): Promise<V> {
    if (key === null || key === undefined) {
      throw new TypeError(`The loader.load() function must be called with a value, but got: ${String(key)}.`);
    }
    const frame = this.#openFrame();
    const { cacheMap } = this.#settings;
    if (cacheMap === null) return this.#enter(new Load(key, frame, this.#clear));

    const cacheKey = this.#cacheKey(key);
    const cached = cacheMap.get(cacheKey);
    if (cached) return this.#cacheHit(cached, frame);
    const load = new Load(key, frame, this.#clear);
    cacheMap.set(cacheKey, load.promise);
    return this.#enter(load);
  }

  /** Promises the values of several keys, with an `Error` in place of each value that could not be loaded. */
  loadMany(keys: ArrayLike<K>): Promise<(V | Error)[]> {
    if (!isArrayLike(keys)) {
      throw new TypeError(
        `The loader.loadMany() function must be called with Array<key> but got: ${String(keys)}.`,
      );
    }
    const loads: Promise<V | Error>[] = [];
    for (let i = 0; i < keys.length; i++) loads.push(this.load(keys[i] as K).catch((error) => error));
    return Promise.all(loads);
  }

  /** Removes a key from the cache. */
  clear(key: K): this {
    const { cacheMap } = this.#settings;
    if (cacheMap !== null) cacheMap.delete(this.#cacheKey(key));
    return this;
  }

  /** Empties the cache. */
  clearAll(): this {
    this.#settings.cacheMap?.clear();
    return this;
  }

  /** Puts a value, a promise of it or an `Error` into the cache, unless its key is there already. */
  prime(key: K, value: V | PromiseLike<V> | Error): this {
    const { cacheMap } = this.#settings;
    if (cacheMap === null) return this;
    const cacheKey = this.#cacheKey(key);
    if (cacheMap.get(cacheKey) !== undefined) return this;
    const promise = value instanceof Error ? Promise.reject<V>(value) : Promise.resolve(value);
    // Nothing has been loaded yet: an error is unhandled only when a load gets it and does not handle it.
    if (value instanceof Error) promise.catch(() => {});
    cacheMap.set(cacheKey, promise);
    return this;
  }

  /** The batcher's counters: loads, batches, errors. */
  stats(): BatcherStats {
    return this.#batcher.stats();
  }

  /** Dispatches what has been loaded so far, and resolves when it is answered. Later loads are rejected, unless they are in the cache. */
  close(options?: CloseOptions): Promise<void> {
    for (const frame of this.#undispatched) this.#dispatch(frame);
    return this.#batcher.close(options);
  }

  /** The frame that takes the next load. */
  #openFrame(): Frame<K, V> {
    const current = this.#frame;
    const { maxBatchSize, batchScheduleFn } = this.#settings;
    if (current !== undefined && !current.isDispatched && current.loads.length < maxBatchSize) return current;
    const frame = new Frame<K, V>();
    this.#frame = frame;
    this.#undispatched.add(frame);
    batchScheduleFn.call(this, () => this.#dispatch(frame));
    return frame;
  }

  #enter(load: Load<K, V>): Promise<V> {
    load.frame.loads.push(load);
    // The schedule function has called back at once.
    if (load.frame.isDispatched) this.#send(load.frame);
    return load.promise;
  }

  #cacheHit(cached: Promise<V>, frame: Frame<K, V>): Promise<V> {
    return new Promise((resolve) => {
      frame.addCacheHit(() => resolve(cached));
      if (frame.isDispatched) frame.answerCacheHits();
    });
  }

  #dispatch(frame: Frame<K, V>): void {
    if (frame.isDispatched) return;
    frame.isDispatched = true;
    this.#undispatched.delete(frame);
    if (frame.loads.length > 0) this.#send(frame);
    else frame.answerCacheHits();
  }

  /**
   * Passes the loads of a frame on to the batcher. Not earlier, one by one: it would dispatch a full batch before the
   * schedule function calls back.
   */
  #send(frame: Frame<K, V>): void {
    const batcher = this.#batcher;
    frame.run = currentContext();
    for (const load of frame.loads.splice(0)) batcher.enqueue(load, load);
    // Now, and not at the end of the turn as the batcher would. A policy of the caller's decides by itself.
    if (this.#settings.batcherOptions.policy === undefined) batcher.flush();
  }

  #cacheKey(key: K): C {
    const { cacheKeyFn } = this.#settings;
    return cacheKeyFn === undefined ? (key as unknown as C) : cacheKeyFn.call(this, key);
  }

  get #batcher(): Batcher<Load<K, V>, undefined> {
    this.#madeBatcher ??= this.#newBatcher();
    return this.#madeBatcher;
  }

  #newBatcher(): Batcher<Load<K, V>, undefined> {
    const { maxBatchSize, batcherOptions } = this.#settings;
    const { costOf, groupOf, policy, concurrency, ...others } = batcherOptions;
    const options: BatcherOptions<Load<K, V>> = {
      ...others,
      policy: policy ?? greedy(),
      concurrency: concurrency ?? Number.POSITIVE_INFINITY,
      name: this.name ?? 'dataloader',
      maxBatchSize,
      costOf: costOf && (({ key }) => costOf(key)),
      groupOf: groupOf && (({ key }) => groupOf(key)),
    };
    return new Batcher((loads, context) => this.#loadBatch(loads, context), options);
  }

  #loadBatch(loads: readonly Load<K, V>[], context: BatchContext): Promise<Results<undefined>> {
    const keys = loads.map(({ key }) => key);
    const run = loads[0]?.frame.run ?? ((call) => call());
    return Promise.resolve(run(() => this.#callBatchLoadFn(keys, context))).then((values) => {
      checkValues(values, keys);
      return loads.map((load, i) => load.answerWith(values[i] as V | Error));
    });
  }

  #callBatchLoadFn(keys: readonly K[], context: BatchContext): PromiseLike<ArrayLike<V | Error>> {
    let promise: PromiseLike<ArrayLike<V | Error>>;
    try {
      promise = this.#batchLoadFn.call(this, keys, context);
    } catch (thrown) {
      throw new TypeError(`${EXPECTED} the function errored synchronously: ${String(thrown)}.`, {
        cause: thrown,
      });
    }
    if (typeof promise?.then === 'function') return promise;
    throw new TypeError(`${EXPECTED} the function did not return a Promise: ${String(promise)}.`);
  }
}

function checkValues(values: ArrayLike<unknown>, keys: readonly unknown[]): void {
  if (!isArrayLike(values)) {
    throw new TypeError(`${EXPECTED} the function did not return a Promise of an Array: ${String(values)}.`);
  }
  if (values.length !== keys.length) {
    throw new TypeError(
      `${EXPECTED} the function did not return a Promise of an Array of the same length as the Array of keys.` +
        `\n\nKeys:\n${String(keys)}\n\nValues:\n${String(values)}`,
    );
  }
}

/** An object with a length and, unless that is 0, a last element. */
function isArrayLike(value: unknown): value is ArrayLike<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const { length } = value as { length?: unknown };
  return typeof length === 'number' && (length === 0 || (length > 0 && Object.hasOwn(value, length - 1)));
}
