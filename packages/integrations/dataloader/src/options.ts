/** The options of a loader: those of DataLoader 2, and those of the batcher. Checked here. */
import { type BatchContext, type BatcherOptions, BatchwiseError } from 'batchwise';
import { afterPromiseJobs } from './after-promise-jobs.js';

/**
 * Gets the keys of one batch; promises as many values, in the same order. A value that is an `Error` rejects only the
 * loads of its key. `this` is the loader. The context is the batcher's: `context.signal` fires when no load waits any more.
 */
export type BatchLoadFn<K, V> = (
  keys: readonly K[],
  context: BatchContext,
) => PromiseLike<ArrayLike<V | Error>>;

/** A cache of promises: a `Map`, or an object with these of its methods. */
export interface CacheMap<C, P> {
  // biome-ignore lint/suspicious/noConfusingVoidType: caches written for DataLoader declare it
  get(key: C): P | undefined | void;
  set(key: C, value: P): unknown;
  delete(key: C): unknown;
  clear(): unknown;
}

type OtherOptions<K> = Omit<BatcherOptions<K>, 'maxBatchSize' | 'dedupeBy' | 'name'>;

export interface DataLoaderOptions<K, V, C = K> extends OtherOptions<K> {
  /**
   * `false`: one key per call of the batch function.
   * @default true
   */
  readonly batch?: boolean | undefined;
  /**
   * The most keys per call of the batch function; with `costOf`, the most they may cost.
   * @default Infinity
   */
  readonly maxBatchSize?: number | undefined;
  /**
   * Calls back when the loads made so far are to be dispatched.
   * @default after all promise jobs of the current tick; without `process.nextTick`, at the end of the event-loop turn
   */
  readonly batchScheduleFn?: ((callback: () => void) => void) | undefined;
  /**
   * `false`: nothing is cached, and a key that is loaded twice is passed twice.
   * @default true
   */
  readonly cache?: boolean | undefined;
  /**
   * The key under which a key is cached.
   * @default the key itself
   */
  readonly cacheKeyFn?: ((key: K) => C) | undefined;
  /**
   * The cache; `null` for none.
   * @default a new Map
   */
  readonly cacheMap?: CacheMap<C, Promise<V>> | null | undefined;
  /**
   * The loader's name, also in errors and diagnostics.
   * @default null
   */
  readonly name?: string | null | undefined;
}

export interface LoaderSettings<K, V, C> {
  readonly maxBatchSize: number;
  readonly batchScheduleFn: (callback: () => void) => void;
  readonly cacheKeyFn: ((key: K) => C) | undefined;
  readonly cacheMap: CacheMap<C, Promise<V>> | null;
  readonly name: string | null;
  /** What the loader does not use itself. */
  readonly batcherOptions: OtherOptions<K>;
}

// The texts of the errors are DataLoader's: applications and their tests may look for them.

export function loaderSettings<K, V, C>(options: DataLoaderOptions<K, V, C>): LoaderSettings<K, V, C> {
  const { batch, maxBatchSize, batchScheduleFn, cache, cacheKeyFn, cacheMap, name, ...batcherOptions } =
    options;
  if ('dedupeBy' in batcherOptions && batcherOptions.dedupeBy !== undefined) {
    throw new BatchwiseError('INVALID_OPTION', 'dedupeBy: a DataLoader has a cache instead; see cacheKeyFn.');
  }
  return {
    maxBatchSize: batch === false ? 1 : validMaxBatchSize(maxBatchSize),
    batchScheduleFn: validFunction('batchScheduleFn', batchScheduleFn) ?? afterPromiseJobs,
    cacheKeyFn: validFunction('cacheKeyFn', cacheKeyFn),
    cacheMap: cache === false ? null : validCacheMap(cacheMap),
    name: name || null,
    batcherOptions,
  };
}

function validMaxBatchSize(maxBatchSize: number | undefined): number {
  if (maxBatchSize === undefined) return Number.POSITIVE_INFINITY;
  if (typeof maxBatchSize === 'number' && maxBatchSize >= 1) return Math.ceil(maxBatchSize);
  throw new TypeError(`maxBatchSize must be a positive number: ${maxBatchSize}`);
}

// biome-ignore lint/complexity/noBannedTypes: any function will do; the caller knows its type
function validFunction<F extends Function>(name: string, value: F | undefined): F | undefined {
  if (value === undefined || typeof value === 'function') return value;
  throw new TypeError(`${name} must be a function: ${value}`);
}

function validCacheMap<C, P>(cacheMap: CacheMap<C, P> | null | undefined): CacheMap<C, P> | null {
  if (cacheMap === undefined) return new Map<C, P>();
  if (cacheMap === null) return null;
  const methods = ['get', 'set', 'delete', 'clear'] as const;
  const missing = methods.filter((method) => typeof cacheMap[method] !== 'function');
  if (missing.length === 0) return cacheMap;
  throw new TypeError(`Custom cacheMap missing methods: ${missing.join(', ')}`);
}
