/** A model on an upstream, behind the Open Inference Protocol. A batch is one message. */
import { type BackendSet, BatchwiseError, type Clock, type Handler } from 'batchwise';
import type { Availability } from '../runner.js';
import type { Signature, Tensors } from '../tensor.js';
import type { InferCall, TensorModel } from '../tensor-model.js';
import { FaultLimit } from './fault-limit.js';
import type { UpstreamBackends } from './upstream-backends.js';
import type { InferencePeer } from './upstream-peer.js';

export interface UpstreamModelOptions {
  readonly name: string;
  readonly backends: UpstreamBackends<InferencePeer>;
  readonly platform: string;
  /** The timeout of calls without one: at warm-up. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

const METADATA_TIMEOUT_MS = 10_000;

export class UpstreamModel implements TensorModel {
  readonly platform: string;
  readonly availability: Availability;
  readonly #options: UpstreamModelOptions;
  readonly #faults: FaultLimit;
  #signature: Signature | undefined;

  constructor(options: UpstreamModelOptions) {
    this.platform = options.platform;
    this.availability = options.backends;
    this.#options = options;
    this.#faults = new FaultLimit(options.name, options.clock);
  }

  async load(): Promise<Signature> {
    const { name, backends } = this.#options;
    const peer = await backends.start();
    try {
      this.#signature = await peer.signature(METADATA_TIMEOUT_MS);
      return this.#signature;
    } catch (error) {
      const message = `${name}: the upstream ${peer.place} returned no valid model metadata: ${(error as Error).message}`;
      throw new BatchwiseError('UNAVAILABLE', message, { cause: error });
    }
  }

  createBackends<I, R>(run: Handler<I, R>): BackendSet<I, R> {
    return this.#options.backends.createBackends(run);
  }

  async infer(inputs: Tensors, call: InferCall): Promise<Tensors> {
    const { backends } = this.#options;
    const timeoutMs = Number.isFinite(call.timeoutMs) ? call.timeoutMs : this.#options.timeoutMs;
    try {
      const outputs = await backends.call(call.backend, (peer) => peer.infer(inputs, { ...call, timeoutMs }));
      this.#faults.succeeded();
      this.#checkOutputs(outputs);
      return outputs;
    } catch (error) {
      throw this.#faults.classify(error as Error);
    }
  }

  close(): Promise<void> {
    return this.#options.backends.close();
  }

  /** Detects a copy with another model, or a replaced model, which would otherwise only show in wrong results. */
  #checkOutputs(outputs: Tensors): void {
    for (const spec of this.#signature?.outputs ?? []) {
      const output = outputs.get(spec.name);
      if (output === undefined) continue;
      const { datatype, shape } = output;
      const isDatatype = spec.anyDatatype || datatype === spec.datatype;
      if (isDatatype && (spec.anyShape || shape.length === spec.shape.length)) continue;
      const message =
        `${this.#options.name}: the upstream: output ${JSON.stringify(spec.name)}: expected ${spec.datatype} ` +
        `[${spec.shape}] as in its metadata, got ${datatype} [${shape}].`;
      throw new BatchwiseError('BAD_RESULT', message);
    }
  }
}
