/**
 * Single texts into requests to an OpenAI-style embeddings endpoint.
 *
 *     import { embeddingsBatcher } from '@batchwise/embeddings';
 *
 *     const embeddings = embeddingsBatcher({ url: 'http://localhost:8080/v1/embeddings', model: 'all-minilm' });
 *     const [cat, dog] = await Promise.all([embeddings.submit('a cat'), embeddings.submit('a dog')]); // one request
 *     console.log(cat.length === dog.length); // true: two Float32Arrays
 *     await embeddings.close();
 */

export type { Fetch, HttpAnswer } from '@batchwise/fetch';
export { type EmbeddingsOptions, embeddingsBatcher } from './embeddings-batcher.js';
