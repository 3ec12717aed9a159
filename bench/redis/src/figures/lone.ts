/** What a caller who is alone waits beyond the handler's own time. */
import { atMost, medianOf, medianText, spreadText, takeTurns, type Verdict } from '@batchwise/bench-harness';
import type { Effort, Figure } from '../figure.js';
import { runTrial, type TrialName, type TrialResult } from '../trial.js';

/** A handler that answers at once, and one that takes about as long as a small model. */
const HANDLERS_MS = [0, 5];
/** Some thousand requests: with 5 ms each, a caller who is alone would need half a minute for them. */
const HEAT_MS = 2500;

export const lone: Figure = {
  name: 'lone',
  title: 'One caller: p50 beyond the handler’s own time',

  async measure(effort, say) {
    // dynamic_batcher waits 2 s for a fuller batch: it would have two samples a round.
    const contenders = effort.contenders.filter((name) => name !== 'dynamic_batcher');
    const turns: Record<string, () => Promise<TrialResult>> = {};
    for (const batchMs of HANDLERS_MS) {
      for (const name of contenders) turns[keyOf(name, batchMs)] = () => trialOf(name, batchMs, effort);
    }
    const raw = await takeTurns(turns, effort.rounds, say);
    const verdicts = HANDLERS_MS.flatMap((batchMs) =>
      contenders.map((name): Verdict => {
        const samples = (raw[keyOf(name, batchMs)] ?? []).map(addedMs);
        const verdict = { label: `ms added by ${keyOf(name, batchMs)}`, samples, digits: 2 };
        return name === 'batchwise' ? { ...verdict, goal: atMost(1) } : verdict;
      }),
    );
    const rows = Object.entries(raw).map(([key, results]) => {
      const p50 = results.map((result) => result.p50Ms);
      const p99 = medianOf(results.map((result) => result.p99Ms));
      return [
        key,
        medianText(results.map(handlerMs), 2),
        medianText(p50, 2),
        spreadText(p50, 2),
        p99.toFixed(1),
      ];
    });
    return {
      tables: [{ head: ['', 'handler p50 ms', 'p50 ms', 'min–max', 'p99 ms'], rows }],
      verdicts,
      notes: ['the handler’s own time is that of its timer as the processor measured it'],
      raw,
    };
  },
};

function keyOf(name: TrialName, batchMs: number): string {
  return batchMs === 0 ? `${name}, no-op` : `${name}, ${batchMs} ms`;
}

function trialOf(contender: TrialName, batchMs: number, { warmupMs, timedMs }: Effort): Promise<TrialResult> {
  return runTrial({
    contender,
    load: { callers: 1, warmupMs, timedMs, heatMs: HEAT_MS },
    batchMs: [batchMs],
  });
}

function handlerMs({ processors: [report] }: TrialResult): number {
  return report?.handlerP50Ms ?? Number.NaN;
}

function addedMs(result: TrialResult): number {
  return result.p50Ms - handlerMs(result);
}
