/** Callers who each ask for one digit, wait for the answer, and ask for the next. */
import type { DigitSample } from './digit-samples.js';
import type { Meter } from './meter.js';
import type { WayToCall } from './ways-to-call.js';

export interface Callers {
  readonly count: number;
  readonly samples: readonly DigitSample[];
  /** Sends them home early. */
  readonly signal: AbortSignal;
}

/** Resolves when the meter's time is over and everybody has got the last answer. */
export async function keepAsking(way: WayToCall, meter: Meter, callers: Callers): Promise<void> {
  const { count, samples, signal } = callers;

  async function caller(firstSample: number): Promise<void> {
    for (let turn = firstSample; !signal.aborted; turn += 1) {
      const submittedAt = performance.now();
      const sample = samples[turn % samples.length];
      if (submittedAt >= meter.endsAt || sample === undefined) return;
      const label = await way.classify(sample.pixels);
      meter.recordRequest(submittedAt, performance.now(), label === sample.label);
    }
  }

  await Promise.all(Array.from({ length: count }, (_, index) => caller(index)));
}
