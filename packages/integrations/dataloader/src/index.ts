/**
 * DataLoader, on a Batchwise batcher.
 *
 *     import { DataLoader } from '@batchwise/dataloader';
 *
 *     const squares = new DataLoader(async (numbers: readonly number[]) => numbers.map((n) => n * n));
 *     console.log(await Promise.all([squares.load(2), squares.load(3), squares.load(2)])); // [4, 9, 4], from [2, 3]
 */

export { DataLoader } from './data-loader.js';
export type { BatchLoadFn, CacheMap, DataLoaderOptions } from './options.js';
