/** Which backend gets the next batch, and which the next call. Pure: it sees candidates and the time. */
import { type Loaded, leastLoaded } from 'batchwise';

/** What the choice looks at. */
export interface Candidate extends Loaded {
  readonly openCalls: number;
  standing(now: number): 'ready' | 'connecting' | 'bad';
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

/** The one with the least predicted wait of those with a free permit; `turn` decides among equals. */
export function chooseForBatch<C extends Candidate>(
  usable: readonly C[],
  size: number,
  maxBatchesInFlight: number,
  turn: number,
  now: number,
): C | undefined {
  const free = usable.filter(({ running }) => running.size < maxBatchesInFlight);
  return leastLoaded(free, size, turn, now);
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
