/** A peer with the Open Inference Protocol, over any transport. */
import type { Signature, Tensors } from '../tensor.js';
import type { InferCall } from '../tensor-model.js';
import type { Outcome } from './outcome.js';
import type { UpstreamPeer } from './upstream-peer.js';

export interface InferencePeer extends UpstreamPeer {
  readonly platform: string;
  checkReady(timeoutMs: number): Promise<void>;
  signature(timeoutMs: number): Promise<Signature>;
  infer(inputs: Tensors, call: InferCall): Promise<Outcome<Tensors>>;
}
