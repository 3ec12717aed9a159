/**
 * A processor in a process of its own, to be killed and frozen. Answers each item with its id; an item may say what
 * is to happen to the process that runs it.
 */
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { RedisProcessor } from '@batchwise/redis';

const { workMs = 0, ...options } = JSON.parse(process.env.CHAOS ?? '{}');

async function run(items) {
  process.send?.({ event: 'ran', ids: items.map(({ id }) => id) });
  for (const { does } of items) {
    if (does === 'exit') process.exit(7);
    if (does === 'kill') process.kill(process.pid, 'SIGKILL');
  }
  if (workMs > 0) await delay(workMs);
  return items.map(({ id }) => ({ id, now: Date.now() }));
}

const processor = new RedisProcessor(run, options);
processor.onNotice((notice) => {
  const { event, id, items } = notice;
  process.send?.({
    event,
    ...(id && { id }),
    ...(items && { items }),
    ...(notice.error && { error: String(notice.error) }),
  });
});

process.on('message', async (message) => {
  if (message === 'close') {
    await processor.close();
    process.disconnect();
  }
});
process.on('disconnect', () => process.exit());

await processor.ready;
process.send?.({ event: 'ready', consumer: processor.consumer });
