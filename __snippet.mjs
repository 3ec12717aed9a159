import { Batcher, window } from 'batchwise';

const batcher = new Batcher(async (items, { reason }) => {
  console.log(reason, items);
  return items;
}, { policy: window({ maxWaitMs: 60_000 }) });

const calls = [batcher.submit('a'), batcher.submit('b')];
batcher.flush();
await Promise.all(calls);
await batcher.close();
