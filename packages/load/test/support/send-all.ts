/** Sends requests as users without pauses do, and checks what every target promises: one end each, after `send`. */
import type { Outcome, Target } from '../../src/targets/target.js';

export async function sendAll(target: Target, requests: number, users: number): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  await new Promise<void>((resolve, reject) => {
    let sent = 0;
    const next = () => {
      if (sent === requests) return;
      const number = sent++;
      let hasReturned = false;
      let ends = 0;
      target.send(number, (outcome) => {
        ends++;
        if (!hasReturned || ends > 1) reject(new Error(`request ${number}: ended early, or ${ends} times`));
        outcomes.push(outcome);
        if (outcomes.length === requests) resolve();
        else next();
      });
      hasReturned = true;
    };
    for (let i = 0; i < users; i++) next();
  });
  return outcomes;
}

/** How many outcomes there are of each kind and reason: `failed ECONNRESET`. */
export function counted(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind, reason } of outcomes) {
    const key = reason === undefined ? kind : `${kind} ${reason}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}
