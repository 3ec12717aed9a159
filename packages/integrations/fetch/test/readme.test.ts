import * as module from '@batchwise/fetch';
import { expect, test } from 'vitest';
import { localServer } from './local-server.js';
import { readmeProgram } from './readme-program.js';

test('the program of the README prints what it says', async () => {
  const { expected, run } = readmeProgram(new URL('../README.md', import.meta.url));
  const server = await localServer(() => ({
    body: [
      { id: 1, name: 'Ada' },
      { id: 2, name: 'Grace' },
    ],
  }));
  expect(await run({ '@batchwise/fetch': module }, { 'http://localhost:3000': server.url })).toBe(expected);
  expect(server.requests.map(({ url }) => url)).toEqual(['/users?ids=1,2,3']);
});
