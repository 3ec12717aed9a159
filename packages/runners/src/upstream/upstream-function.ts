/** A function that is served elsewhere, as the handler of a batcher. */
import { type BatchContext, BatchwiseError, type Results } from 'batchwise';
import type { FunctionBackend } from '../function-runner.js';
import type { FunctionPeer } from './function-peer.js';
import type { UpstreamPool } from './upstream-pool.js';

export interface UpstreamFunctionOptions {
  readonly pool: UpstreamPool<FunctionPeer>;
  readonly timeoutMs: number;
  readonly platform: string;
  /**
   * Whether items may be sent twice: then an error that may be one item's fault is thrown, and the batcher takes the
   * batch apart. Else it is the answer to all that have none.
   */
  readonly isRepeatable: boolean;
}

export class UpstreamFunction implements FunctionBackend {
  readonly platform: string;
  readonly availability: UpstreamPool<FunctionPeer>;
  readonly #timeoutMs: number;
  readonly #isRepeatable: boolean;

  constructor({ pool, timeoutMs, platform, isRepeatable }: UpstreamFunctionOptions) {
    this.availability = pool;
    this.platform = platform;
    this.#timeoutMs = timeoutMs;
    this.#isRepeatable = isRepeatable;
  }

  async load(): Promise<void> {
    await this.availability.start();
  }

  readonly handler = async (items: unknown[], context: BatchContext): Promise<Results<unknown>> => {
    const timeoutMs = this.#timeoutMs;
    try {
      await this.availability.run(context.cost, context.signal, (peer) =>
        peer.run({ items, context, timeoutMs }),
      );
    } catch (error) {
      if (this.#isRepeatable && !isOfAll(error, items)) throw error;
      const told = error instanceof BatchwiseError ? error : fault(error as Error);
      // Those that were answered by then keep their answers.
      for (let index = 0; index < items.length; index++) context.answer(index, told);
    }
    return context.answered;
  };

  close(): Promise<void> {
    return this.availability.close();
  }
}

function fault(error: Error): BatchwiseError {
  return new BatchwiseError('HANDLER_FAILED', error.message, { cause: error });
}

function isOfAll(error: unknown, items: readonly unknown[]): error is BatchwiseError {
  if (!(error instanceof BatchwiseError)) return false;
  return error.code !== 'INVALID_ITEM' || items.length === 1;
}
