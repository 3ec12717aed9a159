/** One remote process that runs batches: a peer for models or a peer for functions, over any protocol. */
import type { BatchContext } from 'batchwise';
import type { Signature, Tensors } from '../tensor.js';
import type { InferCall } from '../tensor-model.js';
import type { Outcome } from './outcome.js';

export interface UpstreamPeer {
  /** The address for the log: scheme, host and path. Callers do not see it. */
  readonly place: string;
  /**
   * Resolves when the peer is ready, rejects with the reason otherwise. Absent if the protocol has no readiness
   * check.
   */
  checkReady?(timeoutMs: number): Promise<void>;
  /** Calls the listener when a persistent connection is established or lost, before the next call would detect it. */
  onConnectionChange?(listener: (error: Error | undefined) => void): void;
  close(): Promise<void>;
}

/** A peer with the Open Inference Protocol. */
export interface InferencePeer extends UpstreamPeer {
  readonly platform: string;
  checkReady(timeoutMs: number): Promise<void>;
  signature(timeoutMs: number): Promise<Signature>;
  infer(inputs: Tensors, call: InferCall): Promise<Outcome<Tensors>>;
}

export interface PeerBatch {
  readonly items: readonly unknown[];
  /** Receives the answers. */
  readonly context: Pick<BatchContext, 'answer' | 'signal'>;
  readonly timeoutMs: number;
}

/** A peer that runs a function over items and answers each item separately. */
export interface FunctionPeer extends UpstreamPeer {
  /** If it fails, the items without an answer get its error. */
  run(batch: PeerBatch): Promise<Outcome<undefined>>;
}
