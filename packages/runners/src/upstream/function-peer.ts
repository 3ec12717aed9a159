/** A peer that runs a function over items and answers each item separately. */
import type { BatchContext } from 'batchwise';
import type { Outcome } from './outcome.js';
import type { UpstreamPeer } from './upstream-peer.js';

export interface PeerBatch {
  readonly items: readonly unknown[];
  /** Receives the answers. */
  readonly context: Pick<BatchContext, 'answer' | 'signal'>;
  readonly timeoutMs: number;
}

export interface FunctionPeer extends UpstreamPeer {
  /** If it fails, the items without an answer get its error. */
  run(batch: PeerBatch): Promise<Outcome<undefined>>;
}
