/** A closed loop: each caller waits for its result before its next request. */
import { Meter, type Metered, type Timing } from './meter.js';

export const CALLERS = 1000;
export const BATCH_SIZE = 64;

export type Submit = (item: number) => Promise<unknown>;

/** The handler of every contender; the time of everything else is measured. */
export const echo = async (items: readonly number[]): Promise<readonly number[]> => items;

export function closedLoop(
  submit: Submit,
  timing: Timing,
  { callers = CALLERS, onWarm = () => {} } = {},
): Promise<Metered> {
  const meter = new Meter(timing, 1024, onWarm);
  // Different numbers, so that a peer cannot merge equal items.
  for (let i = 0; i < callers; i++) void call(submit, i, callers, meter);
  return meter.done;
}

async function call(submit: Submit, first: number, step: number, meter: Meter): Promise<void> {
  let item = first;
  do {
    await submit(item);
    // Stays a small integer.
    item = (item + step) % 1_000_000_000;
  } while (meter.tick());
}
