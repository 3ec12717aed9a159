/** GETs from Redis: a write to the socket for each, and pipelines. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipelineBatcher } from '@batchwise/redis-commands';
import { Redis } from 'ioredis';
import { freePorts, spawnGuarded } from '../../../scripts/services/guarded-process.js';
import { findProgram, testPrograms } from '../../../scripts/test-programs.js';
import { oneByOne } from './one-by-one.js';

const KEYS = 1000;

async function startRedis() {
  const program = findProgram(testPrograms.redisServer);
  if (program === undefined)
    throw new Error('expected redis-server; scripts/test-requirements.js provides it');
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-bench-redis-'));
  const [port = 0] = await freePorts(1);
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const server = spawnGuarded(program, settings, { folder });
  await server.line(/Ready to accept connections/);
  const stop = async () => {
    await server.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  return { port, stop };
}

export const redisCommands = oneByOne({
  name: 'redis-commands',
  item: 'GET of one key',
  notes: [
    'One by one: ioredis with its defaults, on one connection, which sends a command without waiting for replies.',
    'Expect about 1 here: the client is the bottleneck. Redis itself needs about a quarter of the CPU time.',
  ],
  async start() {
    const server = await startRedis();
    const redis = new Redis(server.port, '127.0.0.1');
    const keys = Array.from({ length: KEYS }, (_, i) => `key ${i}`);
    await redis.mset(Object.fromEntries(keys.map((key) => [key, 'a value of some length'])));
    const commands = pipelineBatcher<string | null>(redis);
    const key = (i: number) => `key ${i % KEYS}`;
    return {
      single: (i) => redis.get(key(i)),
      batched: (i) => commands.submit(['GET', key(i)]),
      async close() {
        redis.disconnect();
        await server.stop();
      },
    };
  },
});
