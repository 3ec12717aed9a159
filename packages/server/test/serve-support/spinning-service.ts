/** Functions that compute, on threads: some until a file is there. */
import { existsSync } from 'node:fs';
import { threadId } from 'node:worker_threads';
import { defineService, fn, RequestError } from '@batchwise/server';
import { z } from 'zod';

const spinUntil = (file: string) => {
  while (!existsSync(file));
  return threadId;
};

const Item = z.object({ file: z.string().default(''), what: z.string().default('') });
type Item = z.infer<typeof Item>;

export const service = defineService({
  name: 'Spinning',
  runners: {
    spinner: fn((items: Item[]) => items.map(({ file }) => spinUntil(file)), {
      thread: true,
      batchable: true,
    }),
    stuck: fn((items: Item[]) => items.map(({ file }) => spinUntil(file)), { thread: true, timeoutMs: 300 }),
    odd: fn<Item, unknown>(
      async (items: Item[], context) => {
        switch (items[0]?.what) {
          case 'throw':
            throw new Error('of its own');
          case 'exit':
            process.exit(3);
            break;
          case 'few':
            return [];
          case 'uncloneable':
            return [() => {}];
          case 'item':
            return items.map(() => new RequestError('NOT_FOUND', 'no such thing.'));
          case 'one by one':
            for (const i of items.keys())
              context.answer(i, `answer ${i} of ${context.size} for ${context.name}`);
            return context.answered;
          default:
            return items.map(() => 'done');
        }
      },
      { thread: true },
    ),
  },
  routes: (route) => [
    route.post('/spin', {
      input: Item,
      handler: async (item, { runners }) => ({ on: await runners.spinner.predict(item) }),
    }),
    route.post('/stuck', {
      input: Item,
      handler: async (item, { runners }) => ({ on: await runners.stuck.predict(item) }),
    }),
    route.post('/odd', {
      input: Item,
      handler: async (item, { runners }) => ({ said: await runners.odd.predict(item) }),
    }),
  ],
});
