/** Two processors of one queue, one twice as fast: do they reach together what each reaches alone? */
import { medianText, spreadText, takeTurns, type Verdict, within } from '@batchwise/bench-harness';
import type { Effort, Figure } from '../figure.js';
import { runTrial, type TrialName, type TrialResult } from '../trial.js';

/**
 * What a batch takes. Long enough for two cores to be idle most of the time: with 4 and 8 ms the sum would be
 * 24,000 requests/s, and the figure would be about cores, not about sharing.
 */
const FAST_MS = 20;
const SLOW_MS = 40;
/** So many that neither ever finds the queue empty. */
const CALLERS = 1000;

const MAKE_UPS = { fast: [FAST_MS], slow: [SLOW_MS], both: [FAST_MS, SLOW_MS] } as const;
type MakeUp = keyof typeof MAKE_UPS;

export const unequal: Figure = {
  name: 'unequal',
  title: `Two processors, batches of 64 that take ${FAST_MS} and ${SLOW_MS} ms: requests/s of both ÷ the sum of each alone`,

  async measure(effort, say) {
    // The others have no batches or cannot share a queue.
    const contenders = effort.contenders.filter((name) => name === 'batchwise' || name === 'spike');
    const turns: Record<string, () => Promise<TrialResult>> = {};
    for (const name of contenders) {
      for (const makeUp of Object.keys(MAKE_UPS) as MakeUp[]) {
        turns[keyOf(name, makeUp)] = () => trialOf(name, makeUp, effort);
      }
    }
    const raw = await takeTurns(turns, effort.rounds, say);
    const verdicts = contenders.map((name): Verdict => {
      const [fast = [], slow = [], both = []] = (['fast', 'slow', 'both'] as const).map((makeUp) =>
        rates(raw[keyOf(name, makeUp)] ?? []),
      );
      const samples = both.map((total, round) => total / ((fast[round] ?? 0) + (slow[round] ?? 0)));
      const verdict = { label: `${name}: both ÷ (fast + slow)`, samples, digits: 3 };
      return name === 'batchwise' ? { ...verdict, goal: within(0.95, 1.05) } : verdict;
    });
    const rows = Object.entries(raw).map(([key, results]) => [
      key,
      medianText(rates(results), 0),
      spreadText(rates(results), 0),
      medianText(results.map(fastShare), 2),
    ]);
    return {
      tables: [{ head: ['', 'requests/s', 'min–max', 'share of the first'], rows }],
      verdicts,
      notes: [`${CALLERS.toLocaleString('en')} callers in a closed loop`],
      raw,
    };
  },
};

function keyOf(name: TrialName, makeUp: MakeUp): string {
  return `${name}, ${makeUp}`;
}

function trialOf(contender: TrialName, makeUp: MakeUp, { warmupMs, timedMs }: Effort): Promise<TrialResult> {
  return runTrial({ contender, load: { callers: CALLERS, warmupMs, timedMs }, batchMs: MAKE_UPS[makeUp] });
}

function rates(results: readonly TrialResult[]): number[] {
  return results.map((result) => result.perSecond);
}

function fastShare({ processors }: TrialResult): number {
  const items = processors.map((report) => report?.items ?? Number.NaN);
  return (items[0] ?? Number.NaN) / items.reduce((sum, count) => sum + count, 0);
}
