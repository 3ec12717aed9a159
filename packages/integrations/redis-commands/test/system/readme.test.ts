import * as redisCommands from '@batchwise/redis-commands';
import * as ioredis from 'ioredis';
import { expect, test } from 'vitest';
import { startRedis } from '../../../../redis/test/support/redis-server.js';
import { readmeProgram } from '../../../fetch/test/readme-program.js';

test('the program of the README prints what it says', async () => {
  await using server = await startRedis();
  const { expected, run } = readmeProgram(new URL('../../README.md', import.meta.url));
  const modules = { '@batchwise/redis-commands': redisCommands, ioredis };
  expect(await run(modules, { 'redis://localhost:6379': server.url })).toBe(expected);
});
