import { DataLoader, type DataLoaderOptions } from '@batchwise/dataloader';

/** A loader whose values are its keys, and the keys of each call of its batch function. */
export function recordedLoader<K, C = K>(options?: DataLoaderOptions<K, K, C>) {
  const calls: (readonly K[])[] = [];
  const loader = new DataLoader<K, K, C>(async (keys) => {
    calls.push(keys);
    return keys;
  }, options);
  return { loader, calls };
}

/** A loader whose batches wait until the test answers them. */
export function gatedLoader<K, C = K>(options?: DataLoaderOptions<K, K, C>) {
  const batches: { readonly keys: readonly K[]; answer(): void; fail(error: Error): void }[] = [];
  const loader = new DataLoader<K, K, C>(
    (keys) =>
      new Promise((resolve, reject) => {
        batches.push({ keys, answer: () => resolve(keys), fail: reject });
      }),
    options,
  );
  return { loader, batches };
}

/** Everything that can happen without input from outside has happened. */
export async function endOfTurn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
}
