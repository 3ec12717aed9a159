/** Callers who each wait for an answer before they ask again, and what became of their requests. */
import { limitMs, nowMs, pauseMs, percentile } from '@batchwise/bench-harness';
import type { ContenderClient } from './contender.js';

export interface Load {
  readonly callers: number;
  readonly warmupMs: number;
  readonly timedMs: number;
  /**
   * For loads that would take minutes to have the code compiled that they run through: so long before, one caller
   * who is answered at once.
   */
  readonly heatMs?: number;
}

export interface LoadReport {
  /** Of the timed part. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** All that were sent, warm-up included. */
  readonly sent: number;
  /** Of all that were sent: refused, failed, or answered with something else. */
  readonly failed: number;
  /** Of all that were sent: not answered when the run was over, nor within the time that is left for it. */
  readonly unanswered: number;
}

/** How long is waited for what is still under way when the run is over. */
const DRAIN_MS = 5000;

export async function closedLoop(client: ContenderClient, load: Load): Promise<LoadReport> {
  const { callers, warmupMs, timedMs } = load;
  const latenciesMs: number[] = [];
  let sent = 0;
  let settled = 0;
  let failed = 0;
  let isTimed = false;
  let isOver = false;

  async function call(caller: number): Promise<void> {
    for (let id = caller; !isOver; id += callers) {
      const sentAt = nowMs();
      sent += 1;
      const answer = await client.submit({ id }).catch(() => undefined);
      settled += 1;
      if (answer?.id !== id) failed += 1;
      else if (isTimed) latenciesMs.push(nowMs() - sentAt);
    }
  }

  await heat(client, load.heatMs ?? 0);
  const all = Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  await pauseMs(warmupMs);
  isTimed = true;
  const startedAt = nowMs();
  await pauseMs(timedMs);
  isTimed = false;
  isOver = true;
  const elapsedMs = nowMs() - startedAt;
  await Promise.race([all, limitMs(DRAIN_MS)]);
  return {
    perSecond: (1000 * latenciesMs.length) / elapsedMs,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    sent,
    failed,
    unanswered: sent - settled,
  };
}

async function heat(client: ContenderClient, heatMs: number): Promise<void> {
  const until = nowMs() + heatMs;
  for (let id = 0; nowMs() < until; id++) await client.submit({ id, isHeat: true });
}
