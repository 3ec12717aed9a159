import * as module from '@batchwise/embeddings';
import { expect, test } from 'vitest';
import { localServer } from '../../fetch/test/local-server.js';
import { readmeProgram } from '../../fetch/test/readme-program.js';

test('the program of the README prints what it says', async () => {
  const { expected, run } = readmeProgram(new URL('../README.md', import.meta.url));
  const server = await localServer(({ body }) => ({
    body: {
      data: JSON.parse(body).input.map((_: string, index: number) => ({ index, embedding: 'AACAPw==' })),
    },
  }));
  expect(await run({ '@batchwise/embeddings': module }, { 'http://localhost:8080': server.url })).toBe(
    expected,
  );
  expect(server.requests).toHaveLength(1);
});
