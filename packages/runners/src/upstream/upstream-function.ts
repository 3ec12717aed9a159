/** A function on an upstream, as the handler of a batcher. */
import { type BatchContext, BatchwiseError, type Clock, type Results } from 'batchwise';
import type { FunctionBackend } from '../function-runner.js';
import { FaultLimit } from './fault-limit.js';
import type { FunctionPeer } from './function-peer.js';
import type { UpstreamPool } from './upstream-pool.js';

export interface UpstreamFunctionOptions {
  readonly name: string;
  readonly pool: UpstreamPool<FunctionPeer>;
  readonly timeoutMs: number;
  readonly platform: string;
  /**
   * Whether items may be sent twice. If so, an error that one item may have caused is thrown, and the batcher bisects
   * the batch. Otherwise every item without an answer gets the error.
   */
  readonly isRepeatable: boolean;
  readonly clock: Clock;
}

export class UpstreamFunction implements FunctionBackend {
  readonly platform: string;
  readonly availability: UpstreamPool<FunctionPeer>;
  readonly #faults: FaultLimit;
  readonly #isRepeatable: boolean;
  #timeoutMs: number;

  constructor({ name, pool, timeoutMs, platform, isRepeatable, clock }: UpstreamFunctionOptions) {
    this.availability = pool;
    this.platform = platform;
    this.#timeoutMs = timeoutMs;
    this.#isRepeatable = isRepeatable;
    this.#faults = new FaultLimit(name, clock);
  }

  async load(): Promise<void> {
    await this.availability.start();
  }

  configure({ timeoutMs }: { readonly timeoutMs: number }): void {
    this.#timeoutMs = timeoutMs;
  }

  readonly handler = async (items: unknown[], context: BatchContext): Promise<Results<unknown>> => {
    const pool = this.availability;
    const { cost, signal } = context;
    const timeoutMs = this.#timeoutMs;
    const answer = (index: number, result: unknown) =>
      context.answer(index, result instanceof Error ? pool.callerError(result) : result);
    try {
      await pool.run(cost, signal, (peer) => peer.run({ items, context: { answer, signal }, timeoutMs }));
      this.#faults.succeeded();
    } catch (thrown) {
      const error = this.#faults.classify(thrown as Error);
      if (this.#isRepeatable && !isForWholeBatch(error, items)) throw error;
      const batchError = this.#faults.forWholeBatch(error);
      // Items that already have an answer keep it.
      for (let index = 0; index < items.length; index++) context.answer(index, batchError);
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
