/**
 * A model as the handler of a processor that forms the batches itself, in Redis mode: it takes requests as plain
 * data, or single rows as arrays in arrays, and answers each by itself.
 *
 *     const { handler, options, close } = await createModelHandler({ name: 'digits', model, settings });
 *     const processor = new RedisProcessor(handler, { queue: 'digits', payload: 'msgpack', ...options });
 */
import type { BatchContext, BatcherOptions, Clock, CurvePoint, Results } from 'batchwise';
import { BatchwiseError } from 'batchwise';
import { rowDimOf } from './batch-dim.js';
import { mostRows } from './batching-options.js';
import { checkRequest } from './check-request.js';
import { groupKeyOf } from './group-key.js';
import { createModelRunner } from './model-runner.js';
import { type Predictor, predictor } from './predictor.js';
import { isRequestData, requestFromData, resultToData } from './request-data.js';
import type { InferRequest, ModelRunner, RunnerTicket } from './runner.js';
import type { RunnerSettings } from './runner-settings.js';
import type { Signature } from './tensor.js';
import type { TensorModel } from './tensor-model.js';

export interface ModelHandlerOptions {
  readonly name: string;
  /** The handler's own from now on: it loads and closes it. */
  readonly model: TensorModel;
  /** As of a runner; what is said of waiting and refusing is left to whoever forms the batches. */
  readonly settings: RunnerSettings;
  /** @default the real one */
  readonly clock?: Clock | undefined;
}

export interface ModelHandler {
  readonly signature: Signature;
  /** One result an item: as plain data, or a row where the item was one. An item's error is its own. */
  readonly handler: (items: unknown[], context: BatchContext) => Promise<Results<unknown>>;
  /** What whoever forms the batches has to know. */
  readonly options: ModelBatching;
  close(): Promise<void>;
}

export interface ModelBatching extends Pick<BatcherOptions<unknown>, 'costOf' | 'groupOf'> {
  readonly maxBatchSize: number;
  readonly concurrency: number;
  /** As measured at warm-up. */
  readonly curve: readonly CurvePoint[];
}

const { POSITIVE_INFINITY } = Number;

/** Resolves when the model is loaded and warm; rejects when it cannot be. */
export async function createModelHandler(options: ModelHandlerOptions): Promise<ModelHandler> {
  const { settings } = options;
  // A batch that comes is put together as it came, at once; whoever is in it was let in elsewhere.
  const batching = {
    ...settings.batching,
    maxLatencyMs: POSITIVE_INFINITY,
    maxWaitMs: undefined,
    maxQueueSize: POSITIVE_INFINITY,
    policy: 'greedy',
  } as const;
  const runner = createModelRunner({ ...options, settings: { ...settings, batching } });
  await runner.ready;
  return new RunnerHandler(runner, settings);
}

interface Asked {
  readonly request: InferRequest;
  readonly rows: number;
}

class RunnerHandler implements ModelHandler {
  readonly signature: Signature;
  readonly options: ModelBatching;
  readonly #runner: ModelRunner;
  readonly #predictor: Predictor;
  readonly #rowDim: number | undefined;
  /** Read once, though it is asked for what it costs, for its group, and for its answer. */
  readonly #read = new WeakMap<object, Asked | BatchwiseError>();

  constructor(runner: ModelRunner, settings: RunnerSettings) {
    const { batchDim, batching, concurrency } = settings;
    const signature = runner.signature as Signature;
    this.#runner = runner;
    this.#predictor = predictor(runner, batchDim);
    this.signature = signature;
    this.#rowDim = rowDimOf(signature, settings);
    const groupKey = this.#rowDim === undefined ? undefined : groupKeyOf(signature, this.#rowDim);
    const isBatching = this.#rowDim !== undefined && batching.enabled;
    const maxBatchSize = isBatching ? mostRows(batching) : 1;
    this.options = {
      maxBatchSize,
      concurrency,
      curve: (runner.stats()?.curve ?? []).map(({ cost, durationMs }) => ({ cost, durationMs })),
      // A request with more rows than a batch is a batch of its own, and the runner cuts it into parts.
      costOf: (item) => Math.min(maxBatchSize, this.#asked(item)?.rows ?? 1),
      ...(groupKey === undefined || !isBatching
        ? {}
        : {
            groupOf: (item: unknown) => {
              const asked = this.#asked(item);
              return asked && groupKey(asked.request.inputs);
            },
          }),
    };
  }

  readonly handler = async (items: unknown[], { signal }: BatchContext): Promise<Results<unknown>> => {
    const tickets: RunnerTicket[] = [];
    const answers = items.map((item) => {
      if (!isRequestData(item)) return this.#predictor.predict(item, { signal }).catch(asError);
      const read = this.#requestOf(item);
      if (read instanceof BatchwiseError) return read;
      return new Promise<unknown>((resolve) => {
        tickets.push(this.#ask(read.request, resolve));
      });
    });
    const cancelAll = () => {
      for (const ticket of tickets) ticket.cancel(signal.reason);
    };
    signal.addEventListener('abort', cancelAll);
    try {
      return await Promise.all(answers);
    } finally {
      signal.removeEventListener('abort', cancelAll);
    }
  };

  close(): Promise<void> {
    return this.#runner.close({ timeoutMs: 0 });
  }

  #ask(request: InferRequest, answer: (result: unknown) => void): RunnerTicket {
    return this.#runner.enqueue(request, {
      resolve: (tensors, trace) => answer(resultToData(tensors, trace)),
      reject: answer,
    });
  }

  /** Undefined for a row, and for what will be refused. */
  #asked(item: unknown): Asked | undefined {
    if (!isRequestData(item)) return undefined;
    const read = this.#requestOf(item);
    return read instanceof BatchwiseError ? undefined : read;
  }

  #requestOf(item: object): Asked | BatchwiseError {
    const known = this.#read.get(item);
    if (known !== undefined) return known;
    const read = this.#readRequest(item);
    this.#read.set(item, read);
    return read;
  }

  #readRequest(item: object): Asked | BatchwiseError {
    const { name } = this.#runner;
    try {
      const request = requestFromData(item);
      return { request, rows: checkRequest(this.signature, this.#rowDim, request) };
    } catch (error) {
      if (error instanceof BatchwiseError) return error;
      const message = `${name}: the request cannot be read: ${(error as Error).message}.`;
      return new BatchwiseError('INVALID_ITEM', message, { cause: error });
    }
  }
}

/** A result that is an error fails only its item. */
function asError(error: unknown): Error {
  return error as Error;
}
