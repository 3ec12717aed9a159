/** A model that is served elsewhere, behind the Open Inference Protocol. A batch is one message. */
import { BatchwiseError, type Clock } from 'batchwise';
import type { Availability } from '../availability.js';
import type { Signature, Tensors } from '../tensor.js';
import type { InferCall, TensorModel } from '../tensor-model.js';
import type { InferencePeer } from './inference-peer.js';
import type { UpstreamPool } from './upstream-pool.js';

export interface UpstreamModelOptions {
  readonly name: string;
  readonly pool: UpstreamPool<InferencePeer>;
  readonly platform: string;
  /** The longest that a call may take, where the runner says nothing: at warm-up. */
  readonly timeoutMs: number;
  /** The dimension that counts rows. */
  readonly batchDim: number;
  readonly clock: Clock;
}

/**
 * So many faults in a row are those of the upstream rather than of requests: what fails then is not sent again in
 * parts to find the guilty. Halving a batch with one guilty request has fewer up to a batch of 1,000.
 */
const MOST_FAULTS = 12;
/** After so long the guilty are looked for again: in every batch there may be one, and then none succeeds. */
const FORGET_MS = 1000;
const METADATA_TIMEOUT_MS = 10_000;

export class UpstreamModel implements TensorModel {
  readonly platform: string;
  readonly availability: Availability;
  readonly #options: UpstreamModelOptions;
  #faults = 0;
  #gaveUpAt = Number.NEGATIVE_INFINITY;

  constructor(options: UpstreamModelOptions) {
    this.platform = options.platform;
    this.availability = options.pool;
    this.#options = options;
  }

  async load(): Promise<Signature> {
    const { name, pool } = this.#options;
    const peer = await pool.start();
    try {
      return await peer.signature(METADATA_TIMEOUT_MS);
    } catch (error) {
      const message = `${name}: the upstream ${peer.url} does not say what its model takes: ${(error as Error).message}`;
      throw new BatchwiseError('UNAVAILABLE', message, { cause: error });
    }
  }

  async infer(inputs: Tensors, call: InferCall): Promise<Tensors> {
    const { pool, batchDim } = this.#options;
    const timeoutMs = Math.min(call.timeoutMs, this.#options.timeoutMs);
    const rows = inputs.values().next().value?.shape[batchDim] ?? 1;
    try {
      const outputs = await pool.run(rows, call.signal, (peer) => peer.infer(inputs, { ...call, timeoutMs }));
      this.#faults = 0;
      return outputs;
    } catch (error) {
      throw this.#judged(error as Error);
    }
  }

  close(): Promise<void> {
    return this.#options.pool.close();
  }

  /** A fault may be one request's, unless there are too many of them. */
  #judged(error: Error): Error {
    if (error instanceof BatchwiseError && error.code !== 'INVALID_ITEM') return error;
    const now = this.#options.clock.now();
    if (this.#faults > MOST_FAULTS && now - this.#gaveUpAt >= FORGET_MS) this.#faults = 0;
    this.#faults += 1;
    if (this.#faults <= MOST_FAULTS || error instanceof BatchwiseError) return error;
    if (this.#faults === MOST_FAULTS + 1) this.#gaveUpAt = now;
    return new BatchwiseError('HANDLER_FAILED', error.message, { cause: error });
  }
}
