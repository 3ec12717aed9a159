/** Texts to an OpenAI-style endpoint. */
import { embeddingsBatcher } from '@batchwise/embeddings';
import { httpService, SHARED_THREAD } from './fetch.js';
import { oneByOne } from './one-by-one.js';

const DIMENSIONS = 384;
const VECTOR = Buffer.from(new Float32Array(DIMENSIONS).fill(0.5).buffer).toString('base64');

export const embeddingsFigure = oneByOne({
  name: 'embeddings',
  item: 'embedding of one text',
  notes: [SHARED_THREAD, `Embeddings of ${DIMENSIONS} dimensions in base64.`],
  async start() {
    const { url, close } = await httpService((_, body) => {
      const { input } = JSON.parse(body) as { input: string[] };
      const data = input.map((_, index) => `{"index":${index},"embedding":"${VECTOR}"}`);
      return `{"data":[${data}]}`;
    });
    const embeddings = embeddingsBatcher({ url, model: 'test', encodingFormat: 'base64' });
    const textOf = (index: number) => `the text with the number ${index}`;
    return {
      async single(index) {
        const response = await fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'test', input: [textOf(index)], encoding_format: 'base64' }),
        });
        return response.json();
      },
      batched: (index) => embeddings.submit(textOf(index)),
      async close() {
        await embeddings.close();
        await close();
      },
    };
  },
});
