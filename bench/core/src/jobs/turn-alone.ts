/** The end of a turn, for callers within the process, without events of the event loop. */
import { Batcher } from 'batchwise';
import { BATCH_SIZE, closedLoop, echo } from './closed-loop.js';
import type { Timing } from './meter.js';
import { meanBatchSize, type Turn, type TurnResult, turnClocks } from './turn-clocks.js';

export interface TurnAloneParams extends Timing {
  readonly turn: Turn;
  readonly callers: number;
}

export interface TurnAloneResult extends TurnResult {
  /** How often a timer of 1 ms fired: whether the event loop runs other callbacks meanwhile. */
  readonly timersPerSecond: number;
}

export async function run({ turn, callers, ...timing }: TurnAloneParams): Promise<TurnAloneResult> {
  const batcher = new Batcher(echo, {
    maxBatchSize: BATCH_SIZE,
    concurrency: Number.POSITIVE_INFINITY,
    clock: turnClocks[turn],
  });
  let fired = 0;
  setInterval(() => {
    fired += 1;
  }, 1);
  let before = batcher.stats();
  const onWarm = (): void => {
    fired = 0;
    before = batcher.stats();
  };
  const { perSecond, elapsedMs } = await closedLoop((item) => batcher.submit(item), timing, {
    callers,
    onWarm,
  });
  return {
    perSecond,
    meanBatchSize: meanBatchSize(before, batcher.stats()),
    timersPerSecond: (1000 * fired) / elapsedMs,
  };
}
