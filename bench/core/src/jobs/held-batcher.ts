import { Batcher } from 'batchwise';
import { Gate } from './gate.js';

/** A batcher whose only slot is never released. */
export async function heldBatcher(): Promise<Batcher<number, number>> {
  const slotIsTaken = new Gate();
  const batcher = new Batcher(async (items: number[]) => {
    slotIsTaken.open();
    await new Gate().opened;
    return items;
  });
  void batcher.submit(0);
  await slotIsTaken.opened;
  return batcher;
}
