/**
 * The floor: what a good programmer writes in an afternoon who does not care what happens when something
 * breaks. No admission, no deadlines, no leases, no second delivery, no fence; a reply stream that is trimmed
 * whether it was read or not.
 */
import type { Contender } from '../contender.js';
import { SpikeClient } from './spike-client.js';
import { SpikeProcessor } from './spike-processor.js';

export const spike: Contender = {
  connect: SpikeClient.connect,
  process: SpikeProcessor.start,
};
