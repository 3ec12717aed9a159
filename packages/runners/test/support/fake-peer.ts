import type { Signature, Tensors } from '../../src/index.js';
import type { InferCall } from '../../src/tensor-model.js';
import { answered, type Outcome, outage } from '../../src/upstream/outcome.js';
import type { InferencePeer } from '../../src/upstream/upstream-peer.js';
import { DOUBLING, doubled } from './fake-model.js';

/** A peer in this thread with programmed answers. It records its calls. */
export class FakePeer implements InferencePeer {
  readonly platform = 'fake';
  readonly place: string;
  readonly calls: { readonly inputs: Tensors; readonly call: InferCall }[] = [];
  checks = 0;
  isReady = true;
  isClosed = false;
  answer: (inputs: Tensors, call: InferCall) => Promise<Outcome<Tensors>> | Outcome<Tensors> = (
    inputs,
    call,
  ) => answered(doubled(inputs, call));
  connectionChanged: (error: Error | undefined) => void = () => {};

  constructor(place: string) {
    this.place = place;
  }

  async checkReady(): Promise<void> {
    this.checks += 1;
    if (!this.isReady) throw new Error(`${this.place} is warming up`);
  }

  async signature(): Promise<Signature> {
    return DOUBLING;
  }

  async infer(inputs: Tensors, call: InferCall): Promise<Outcome<Tensors>> {
    this.calls.push({ inputs, call });
    return this.answer(inputs, call);
  }

  onConnectionChange(listener: (error: Error | undefined) => void): void {
    this.connectionChanged = listener;
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  /** The peer is unreachable: calls are not started. */
  goAway(isUnseen = true): void {
    this.isReady = false;
    this.answer = () => outage(new Error(`${this.place} is away`), isUnseen);
  }

  respondAgain(): void {
    this.isReady = true;
    this.answer = (inputs, call) => answered(doubled(inputs, call));
  }
}
