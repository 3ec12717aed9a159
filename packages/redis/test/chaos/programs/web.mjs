/** A web process: keeps so many requests under way, and tells how each ended. Or sends those that it is told to. */
import process from 'node:process';
import { RedisBatcher } from '@batchwise/redis';

const { concurrent = 0, name = 'web', ...options } = JSON.parse(process.env.CHAOS ?? '{}');
const batcher = new RedisBatcher(options);
let count = 0;

async function submit(item, callOptions) {
  try {
    const result = await batcher.submit(item, callOptions);
    process.send?.({
      event: 'settled',
      id: item.id,
      outcome: result.id === item.id ? 'answered' : 'mixed up',
      result,
      now: Date.now(),
    });
  } catch (error) {
    process.send?.({ event: 'settled', id: item.id, outcome: error.code ?? error.message, now: Date.now() });
  }
}

async function keepOneUnderWay() {
  for (;;) {
    count += 1;
    const id = `${name}-${count}`;
    process.send?.({ event: 'submitted', id });
    await submit({ id });
  }
}

process.on('message', (message) => {
  if (message === 'close') batcher.close().then(() => process.disconnect());
  else for (const { item, options: callOptions } of message) void submit(item, callOptions);
});
process.on('disconnect', () => process.exit());

await batcher.ready;
process.send?.({ event: 'ready', clientId: batcher.clientId });
for (let i = 0; i < concurrent; i += 1) void keepOneUnderWay();
