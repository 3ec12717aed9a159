/** A peer that is a function over items: each is answered by itself, as its answer comes. */
import type { BatchContext } from 'batchwise';
import type { Outcome } from './outcome.js';
import type { UpstreamPeer } from './upstream-peer.js';

export interface PeerBatch {
  readonly items: readonly unknown[];
  /** Takes the answers. */
  readonly context: Pick<BatchContext, 'answer' | 'signal'>;
  readonly timeoutMs: number;
}

export interface FunctionPeer extends UpstreamPeer {
  /** Those that have no answer when it has failed get its error. */
  run(batch: PeerBatch): Promise<Outcome<undefined>>;
}
