/** Documents written with bulk requests. */
import { bulkBatcher } from '@batchwise/elasticsearch';
import { httpService, SHARED_THREAD } from './fetch.js';
import { oneByOne } from './one-by-one.js';

const TEXT = 'x'.repeat(200);
const created = (id: unknown) => `{"index":{"_index":"books","_id":"${id}","status":201,"result":"created"}}`;

export const elasticsearchFigure = oneByOne({
  name: 'elasticsearch',
  item: 'index of one document',
  notes: [SHARED_THREAD],
  async start() {
    const { url, close } = await httpService((path, body) => {
      if (!path.endsWith('/_bulk')) return '{"result":"created"}';
      const actions = body.split('\n').filter((line) => line.startsWith('{"index"'));
      return `{"errors":false,"items":[${actions.map((line) => created(JSON.parse(line).index._id))}]}`;
    });
    const books = bulkBatcher({ node: url, index: 'books' });
    const docOf = (id: number) => ({ title: `book ${id}`, text: TEXT });
    return {
      async single(id) {
        const response = await fetch(`${url}/books/_doc/${id}`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(docOf(id)),
        });
        return response.json();
      },
      batched: (id) => books.submit({ index: { _id: id }, doc: docOf(id) }),
      async close() {
        await books.close();
        await close();
      },
    };
  },
});
