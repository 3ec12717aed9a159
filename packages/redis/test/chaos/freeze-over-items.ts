/** A processor is to be caught in the act: what happens to an idle one is of no interest. */
import { eventually } from '../support/eventually.js';
import type { QueueInspector } from './queue-inspector.js';
import type { Program } from './start-program.js';

/** Stops it while it holds something: how much. */
export function freezeOverItems({ child, consumer }: Program, inspector: QueueInspector): Promise<number> {
  return eventually('it to be frozen over some items', async () => {
    child.stop();
    const held = await inspector.pending(consumer);
    if (held === 0) child.cont();
    return held > 0 && held;
  });
}
