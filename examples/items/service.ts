/** Items come in over HTTP at several processes; what is done with them is done in batches, wherever the worker is. */
import { randomUUID } from 'node:crypto';
import { defineService, fn } from '@batchwise/server';
import { z } from 'zod';

const Item = z
  .object({
    content: z.string(),
    nested: z.object({ key: z.string(), values: z.array(z.number()) }),
  })
  .meta({ examples: [{ content: 'string', nested: { key: 'string', values: [1, 5, 2] } }] });

const Done = Item.extend({
  nested: Item.shape.nested.extend({ values_add1: z.array(z.number()) }),
  name: z.string(),
});

type Item = z.infer<typeof Item>;
type Done = z.infer<typeof Done>;

/** Stands for the model: gets many items at once and returns as many, in the same order. */
function addOne(items: Item[]): Done[] {
  return items.map((item) => ({
    ...item,
    nested: { ...item.nested, values_add1: item.nested.values.map((value) => value + 1) },
    name: randomUUID(),
  }));
}

export const service = defineService({
  name: 'Items',
  // Where it runs is a setting: in batchwise.yaml it is placed in Redis.
  runners: { items: fn(addOne, { batchable: true }) },
  routes: (route) => [
    route.post('/items/test/{item_id}', {
      summary: 'Have one added to every value of an item',
      input: Item,
      output: z.object({ data: Done, elapsed_time: z.number() }),
      handler: async (item, { runners }) => {
        const startedAt = performance.now();
        const data = await runners.items.predict(item);
        return { data, elapsed_time: (performance.now() - startedAt) / 1000 };
      },
    }),
  ],
});
