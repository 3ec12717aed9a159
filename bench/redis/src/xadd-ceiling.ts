/** What Redis itself can take: `redis-benchmark`, one connection, as many XADD under way as there are callers. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis } from './redis.js';

/** About as long as a contender's timed part, at what is usual. */
const COMMANDS_A_SECOND = 300_000;

export async function xaddPerSecond(pipelined: number, seconds: number): Promise<number> {
  const redis = await Redis.start();
  try {
    const options = {
      '-p': redis.port,
      '-c': 1,
      '-P': pipelined,
      '-n': Math.ceil(COMMANDS_A_SECOND * seconds),
    };
    const command = ['XADD', 'requests', '*', 'c', '12345678', 'n', '123456', 'i', '{"id":123456}'];
    const args = [...Object.entries(options).flat().map(String), '--csv', ...command];
    const { stdout } = await promisify(execFile)('redis-benchmark', args);
    // The command, which has commas of its own, then requests a second and latencies.
    const perSecond = Number(/",?"([\d.]+)","[\d.]+"/.exec(stdout.trim().split('\n').at(-1) ?? '')?.[1]);
    if (!(perSecond > 0)) throw new Error(`redis-benchmark: expected requests a second, got '${stdout}'`);
    return perSecond;
  } finally {
    await redis.stop();
  }
}
