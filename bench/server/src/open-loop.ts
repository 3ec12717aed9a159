/** Callers who come whatever happens, at random moments, so many a second. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Client } from './client.js';

export interface TimedAnswer extends Answer {
  /** Milliseconds after the begin. */
  readonly sentAt: number;
}

export async function openLoop(client: Client, perSecond: number, seconds: number): Promise<TimedAnswer[]> {
  // Plain numbers until it is over: a minute has 300,000 answers. As objects, with a promise each, they kept this
  // side collecting garbage for up to 9 ms at a time, which were among the slowest answers that it measured.
  const status: number[] = [];
  const ms: number[] = [];
  const sentAt: number[] = [];
  let unanswered = 0;
  let allAnswered = () => {};
  const startedAt = performance.now();
  const endMs = 1000 * seconds;
  for (let dueMs = 0; dueMs < endMs; dueMs += (-Math.log(1 - Math.random()) * 1000) / perSecond) {
    const aheadMs = dueMs - (performance.now() - startedAt);
    // Timers are late by a millisecond or so: who is due meanwhile is sent together.
    if (aheadMs > 1) await sleep(aheadMs);
    const sentAtMs = performance.now() - startedAt;
    unanswered += 1;
    void client.send().then((answer) => {
      status.push(answer.status);
      ms.push(answer.ms);
      sentAt.push(sentAtMs);
      unanswered -= 1;
      if (unanswered === 0) allAnswered();
    });
  }
  if (unanswered > 0) {
    await new Promise<void>((resolve) => {
      allAnswered = resolve;
    });
  }
  return status.map((code, i) => ({ status: code, ms: ms[i] as number, sentAt: sentAt[i] as number }));
}
