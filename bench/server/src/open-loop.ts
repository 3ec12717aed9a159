/** Callers who come whatever happens, at random moments, so many a second. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Client } from './client.js';

export interface TimedAnswer extends Answer {
  /** Milliseconds after the begin. */
  readonly sentAt: number;
}

export async function openLoop(client: Client, perSecond: number, seconds: number): Promise<TimedAnswer[]> {
  const answers: TimedAnswer[] = [];
  const pending: Promise<void>[] = [];
  const startedAt = performance.now();
  const endMs = 1000 * seconds;
  for (let dueMs = 0; dueMs < endMs; dueMs += (-Math.log(1 - Math.random()) * 1000) / perSecond) {
    const aheadMs = dueMs - (performance.now() - startedAt);
    // Timers are late by a millisecond or so: who is due meanwhile is sent together.
    if (aheadMs > 1) await sleep(aheadMs);
    const sentAt = performance.now() - startedAt;
    pending.push(client.send().then((answer) => void answers.push({ ...answer, sentAt })));
  }
  await Promise.all(pending);
  return answers;
}
