/** What came out, in plain words. */
import type { Meter } from './meter.js';
import { inMs } from './table-rows.js';

export function comparisonOf(single: Meter, batched: Meter): string {
  const ratio = batched.latency.count / single.latency.count;
  if (!Number.isFinite(ratio) || ratio === 0) return 'Too short to compare: nothing was answered in time.';
  const gain =
    ratio < 1.05
      ? `The batcher does not help here: ${ratio.toFixed(2)} times the requests a second.`
      : `Through the batcher the same model answers ${ratio.toFixed(1)} times as many requests a second.`;
  const [before, after] = [single, batched].map(({ latency }) => inMs(latency.percentileMs(50)));
  return `${gain}\nHalf of the callers have their answer within ${after} ms; one by one it was ${before} ms.`;
}

export function correctnessOf(meters: readonly Meter[]): { readonly ok: boolean; readonly text: string } {
  let checked = 0;
  let wrong = 0;
  for (const meter of meters) {
    checked += meter.checked;
    wrong += meter.wrong;
  }
  const answers = `${checked.toLocaleString('en')} answers were compared with the expected label`;
  if (checked > 0 && wrong === 0) return { ok: true, text: `${answers}: all answers correct.` };
  return { ok: false, text: `${answers}: ${wrong.toLocaleString('en')} answers WRONG.` };
}
