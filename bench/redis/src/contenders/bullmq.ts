/** BullMQ as its documentation has it for a result that is waited for: a job a request, no batches. */
import { type ConnectionOptions, Queue, QueueEvents, Worker } from 'bullmq';
import type { Contender } from '../contender.js';
import type { Item } from '../item.js';

const QUEUE = 'bench';
/**
 * Jobs are not removed the moment they are done: `waitUntilFinished` looks the job up once, after it began to
 * listen, and takes one that is gone for failed.
 */
const KEPT_JOBS = 2000;

/**
 * Two of them, because no concurrency suits both loads: a small one looked better with 100 callers, a large one
 * with 1,000. Ours has to hold against both.
 */
export const bullmq20: Contender = bullmqWith(20);
export const bullmq200: Contender = bullmqWith(200);

function bullmqWith(concurrency: number): Contender {
  return {
    async connect(url) {
      const queue = new Queue<Item, Item>(QUEUE, { connection: connectionOptions(url) });
      // From the first event on: by default those are missed that come before it listens, and their callers wait forever.
      const events = new QueueEvents(QUEUE, { connection: connectionOptions(url), lastEventId: '0' });
      // Each waiting caller listens.
      queue.setMaxListeners(0);
      events.setMaxListeners(0);
      await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);
      return {
        async submit(item) {
          const job = await queue.add('request', item, { removeOnComplete: { count: KEPT_JOBS } });
          return job.waitUntilFinished(events);
        },
        async close() {
          await Promise.all([queue.close(), events.close()]);
        },
      };
    },

    async process(url, handler) {
      const worker = new Worker<Item, Item>(QUEUE, async ({ data }) => (await handler([data]))[0] as Item, {
        connection: connectionOptions(url),
        concurrency,
      });
      await worker.waitUntilReady();
      return { close: () => worker.close(true) };
    },
  };
}

function connectionOptions(url: string): ConnectionOptions {
  return { url, maxRetriesPerRequest: null };
}
