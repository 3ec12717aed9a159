/** Rows by id over HTTP, through a loader. */
import { DataLoader } from '@batchwise/dataloader';
import { fetchUsers, SHARED_THREAD, userService } from './fetch.js';
import { oneByOne } from './one-by-one.js';

export const dataloaderFigure = oneByOne({
  name: 'dataloader',
  item: 'load of one row',
  notes: [SHARED_THREAD],
  async start() {
    const { url, close } = await userService();
    const users = new DataLoader((ids: readonly number[]) => fetchUsers(url, ids), {
      cache: false,
      maxBatchSize: 100,
    });
    return {
      single: (id) => fetchUsers(url, [id]),
      batched: (id) => users.load(id),
      async close() {
        await users.close();
        await close();
      },
    };
  },
});
