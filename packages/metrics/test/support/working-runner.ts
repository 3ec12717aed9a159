import { Batcher, type BatcherOptions, greedy, VirtualClock } from 'batchwise';

/** A batcher as a runner: an item is a number of rows, and a batch takes 10 ms plus 1 ms per row. */
export function runnerOf(name: string, options: BatcherOptions<number> = {}) {
  const clock = new VirtualClock();
  const batcher = new Batcher<number, number>(
    (items) => {
      const rows = items.reduce((sum, item) => sum + item, 0);
      return new Promise((resolve) => clock.setTimer(() => resolve(items), 10 + rows));
    },
    { name, clock, costOf: (rows) => rows, policy: greedy(), ...options },
  );
  const submit = (rows: number) => void batcher.submit(rows).catch(() => {});
  return { clock, batcher, submit, runner: { name, stats: () => batcher.stats() } };
}
