import * as module from '@batchwise/dataloader';
import { expect, test } from 'vitest';
import { readmeProgram } from '../../fetch/test/readme-program.js';

test('the program of the README prints what it says', async () => {
  const { expected, run } = readmeProgram(new URL('../README.md', import.meta.url));
  expect(await run({ '@batchwise/dataloader': module })).toBe(expected);
});
