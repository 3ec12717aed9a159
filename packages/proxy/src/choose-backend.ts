/** Which backend gets the next batch, and which the next call. Pure: it sees candidates and the time. */

/** What the choice looks at. */
export interface Candidate {
  readonly running: { readonly size: number };
  readonly openCalls: number;
  standing(now: number): 'ready' | 'connecting' | 'bad';
  predictedWaitMs(size: number, now: number): number;
}

/**
 * Those that may be used: the ready ones; when there are none, those that may soon be; when all are bad, all.
 * Never empty when there is any.
 */
export function usableOf<C extends Candidate>(all: readonly C[], now: number): readonly C[] {
  const ready = all.filter((candidate) => candidate.standing(now) === 'ready');
  if (ready.length > 0) return ready;
  const connecting = all.filter((candidate) => candidate.standing(now) === 'connecting');
  return connecting.length > 0 ? connecting : all;
}

/** Predictions that differ by less than a quarter are taken as equal: they are not better than that. */
const ALIKE = 1.25;

/** The one with the least predicted wait of those with a free permit; `turn` decides among equals. */
export function chooseForBatch<C extends Candidate>(
  usable: readonly C[],
  size: number,
  maxBatchesInFlight: number,
  turn: number,
  now: number,
): C | undefined {
  const free = usable.filter(({ running }) => running.size < maxBatchesInFlight);
  if (free.length < 2) return free[0];
  const waits = free.map((candidate) => candidate.predictedWaitMs(size, now));
  const least = Math.min(...waits);
  const alike = free.filter((_, i) => (waits[i] as number) <= least * ALIKE);
  const fewest = Math.min(...alike.map(({ running }) => running.size));
  const idlest = alike.filter(({ running }) => running.size === fewest);
  return idlest[turn % idlest.length];
}

/** The one with the fewest calls; `turn` decides among equals. */
export function chooseForCall<C extends Candidate>(usable: readonly C[], turn: number): C | undefined {
  const fewest = Math.min(...usable.map(callsOf));
  const idlest = usable.filter((candidate) => callsOf(candidate) === fewest);
  return idlest[turn % idlest.length];
}

function callsOf({ running, openCalls }: Candidate): number {
  return running.size + openCalls;
}
