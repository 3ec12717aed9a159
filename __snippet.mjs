import { batched } from 'batchwise';

const capital = batched(async (words) => words.map((word) => word.toUpperCase()));

console.log(await capital('ada'), await capital('grace', { timeoutMs: 200 }));
await capital.batcher.close();
