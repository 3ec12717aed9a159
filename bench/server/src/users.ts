/** The load test of the serving notes: users who think between 0.01 and 2 seconds, so many more each second. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from './client.js';
import type { TimedAnswer } from './open-loop.js';

const LEAST_THINK_MS = 10;
const MOST_THINK_MS = 2000;

export interface UserLoad {
  readonly users: number;
  readonly spawnPerSecond: number;
  readonly seconds: number;
}

export async function simulateUsers(
  client: Client,
  { users, spawnPerSecond, seconds }: UserLoad,
): Promise<TimedAnswer[]> {
  const answers: TimedAnswer[] = [];
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  const user = async (index: number) => {
    await sleep((1000 * index) / spawnPerSecond);
    while (elapsedMs() < 1000 * seconds) {
      const sentAt = elapsedMs();
      answers.push({ ...(await client.send()), sentAt });
      await sleep(LEAST_THINK_MS + Math.random() * (MOST_THINK_MS - LEAST_THINK_MS));
    }
  };
  await Promise.all(Array.from({ length: users }, (_, index) => user(index)));
  return answers;
}
