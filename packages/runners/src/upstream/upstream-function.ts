/** A function on an upstream, as the handler of a batcher. */
import {
  type BackendSet,
  type BatchContext,
  BatchwiseError,
  type Clock,
  type Handler,
  type Results,
} from 'batchwise';
import type { FunctionBackend } from '../function-runner.js';
import { FaultLimit } from './fault-limit.js';
import type { UpstreamBackends } from './upstream-backends.js';
import type { FunctionPeer } from './upstream-peer.js';

export interface UpstreamFunctionOptions {
  readonly name: string;
  readonly backends: UpstreamBackends<FunctionPeer>;
  readonly timeoutMs: number;
  readonly platform: string;
  /**
   * Whether items may be sent more than once. If so, an error that one item may have caused is thrown, and the batcher
   * bisects the batch. Otherwise every item without an answer gets the error.
   */
  readonly isRepeatable: boolean;
  readonly clock: Clock;
}

export class UpstreamFunction implements FunctionBackend {
  readonly platform: string;
  readonly availability: UpstreamBackends<FunctionPeer>;
  readonly #faults: FaultLimit;
  readonly #isRepeatable: boolean;
  #timeoutMs: number;

  constructor({ name, backends, timeoutMs, platform, isRepeatable, clock }: UpstreamFunctionOptions) {
    this.availability = backends;
    this.platform = platform;
    this.#timeoutMs = timeoutMs;
    this.#isRepeatable = isRepeatable;
    this.#faults = new FaultLimit(name, clock);
  }

  async load(): Promise<void> {
    await this.availability.start();
  }

  createBackends<I, R>(run: Handler<I, R>): BackendSet<I, R> {
    return this.availability.createBackends(run);
  }

  configure({ timeoutMs }: { readonly timeoutMs: number }): void {
    this.#timeoutMs = timeoutMs;
  }

  readonly handler = async (items: unknown[], context: BatchContext): Promise<Results<unknown>> => {
    const { availability: backends } = this;
    const { backend, signal } = context;
    const timeoutMs = this.#timeoutMs;
    const answer = (index: number, result: unknown) =>
      context.answer(index, result instanceof Error ? backends.callerError(result) : result);
    try {
      await backends.call(backend, (peer) => peer.run({ items, context: { answer, signal }, timeoutMs }));
      this.#faults.succeeded();
    } catch (thrown) {
      const error = this.#faults.classify(thrown as Error);
      if (this.#isRepeatable && !isForWholeBatch(error, items)) throw error;
      // Items that already have an answer keep it.
      throw this.#faults.forWholeBatch(error);
    }
    return context.answered;
  };

  close(): Promise<void> {
    return this.availability.close();
  }
}

function isForWholeBatch(error: unknown, items: readonly unknown[]): error is BatchwiseError {
  if (!(error instanceof BatchwiseError)) return false;
  return error.code !== 'INVALID_ITEM' || items.length === 1;
}
