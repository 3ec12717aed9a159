import * as module from '@batchwise/elasticsearch';
import { expect, test } from 'vitest';
import { readmeProgram } from '../../fetch/test/readme-program.js';
import { bulkServer } from './bulk-server.js';

test('the program of the README prints what it says', async () => {
  const { expected, run } = readmeProgram(new URL('../README.md', import.meta.url));
  const server = await bulkServer();
  expect(await run({ '@batchwise/elasticsearch': module }, { 'http://localhost:9200': server.url })).toBe(
    expected,
  );
  expect(server.requests).toHaveLength(1);
});
