/**
 * A model as the handler of a Redis processor, which forms the batches itself. Items are requests as plain data, or
 * single rows as nested arrays. Each item gets its own result.
 *
 *     const { handler, options, close } = await createModelHandler({ name: 'digits', model, settings });
 *     const processor = new RedisProcessor(handler, { queue: 'digits', payload: 'msgpack', ...options });
 */
import {
  type BatchContext,
  type BatcherOptions,
  BatchwiseError,
  type Clock,
  type CurvePoint,
  type Results,
} from 'batchwise';
import { rowDimOf } from './batch-dim.js';
import { maxRowsOf } from './batching-options.js';
import { checkRequest } from './check-request.js';
import { groupKeyOf } from './group-key.js';
import { ModelRows } from './model-rows.js';
import { createModelRunner } from './model-runner.js';
import { isRequestData, requestFromData, resultToData } from './request-data.js';
import type { BatchTrace, InferRequest, ModelRunner, RunnerTicket } from './runner.js';
import type { RunnerSettings } from './runner-settings.js';
import type { Signature, Tensors } from './tensor.js';
import type { TensorModel } from './tensor-model.js';

export interface ModelHandlerOptions {
  readonly name: string;
  /** The handler owns the model: it loads and closes it. */
  readonly model: TensorModel;
  /** The settings of a runner. Queue and admission settings are ignored, because the processor forms the batches. */
  readonly settings: RunnerSettings;
  /** @default the real clock */
  readonly clock?: Clock | undefined;
}

export interface ModelHandler {
  readonly signature: Signature;
  /** Returns one result per item: plain data for a request, a row for a row. An error applies only to its item. */
  readonly handler: (items: unknown[], context: BatchContext) => Promise<Results<unknown>>;
  /** The batching options for the processor. */
  readonly options: ModelBatching;
  close(): Promise<void>;
}

export interface ModelBatching extends Pick<BatcherOptions<unknown>, 'costOf' | 'groupOf'> {
  readonly maxBatchSize: number;
  readonly concurrency: number;
  /** The service curve measured at warm-up. */
  readonly curve: readonly CurvePoint[];
}

const { POSITIVE_INFINITY } = Number;

/** Resolves when the model is loaded and warmed up, rejects if that fails. */
export async function createModelHandler(options: ModelHandlerOptions): Promise<ModelHandler> {
  const { settings } = options;
  // Batches are dispatched immediately and unchanged: the processor has already done admission and batching.
  const batching = {
    ...settings.batching,
    targetLatencyMs: POSITIVE_INFINITY,
    maxWaitMs: undefined,
    maxQueueSize: POSITIVE_INFINITY,
    policy: 'greedy',
  } as const;
  const runner = createModelRunner({ ...options, settings: { ...settings, batching }, admission: false });
  await runner.ready;
  return new RunnerHandler(runner, options);
}

interface ParsedRequest {
  readonly request: InferRequest;
  readonly rows: number;
}

class RunnerHandler implements ModelHandler {
  readonly signature: Signature;
  readonly options: ModelBatching;
  readonly #runner: ModelRunner;
  readonly #rows: ModelRows;
  readonly #rowDim: number | undefined;
  /** Parsed once per item, for its cost, its group and its result. */
  readonly #parsed = new WeakMap<object, ParsedRequest | BatchwiseError>();

  constructor(runner: ModelRunner, { settings, model }: ModelHandlerOptions) {
    const { batchDim, batching } = settings;
    const signature = runner.signature as Signature;
    this.#runner = runner;
    this.#rows = new ModelRows(runner, batchDim);
    this.signature = signature;
    this.#rowDim = rowDimOf(signature, settings);
    const groupKey = this.#rowDim === undefined ? undefined : groupKeyOf(signature, this.#rowDim);
    const isBatching = this.#rowDim !== undefined && batching.enabled;
    const maxBatchSize = isBatching ? maxRowsOf(batching) : 1;
    this.options = {
      maxBatchSize,
      concurrency: model.slots ?? settings.concurrency,
      curve: (runner.stats()?.curve ?? []).map(({ cost, durationMs }) => ({ cost, durationMs })),
      // A request with more rows than a batch is a batch of its own. The runner splits it.
      costOf: (item) => Math.min(maxBatchSize, this.#validRequest(item)?.rows ?? 1),
      ...(groupKey === undefined || !isBatching
        ? {}
        : {
            groupOf: (item: unknown) => {
              const parsed = this.#validRequest(item);
              return parsed && groupKey(parsed.request.inputs);
            },
          }),
    };
  }

  readonly handler = async (items: unknown[], { signal }: BatchContext): Promise<Results<unknown>> => {
    const tickets: RunnerTicket[] = [];
    const answers = items.map((item) => this.#answerTo(item, tickets));
    // One listener for the batch: Node warns of a leak when a signal has more than ten.
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

  /** The result of an item, or its error. */
  #answerTo(item: unknown, tickets: RunnerTicket[]): unknown {
    const isRow = !isRequestData(item);
    const request = isRow ? valueOrError(() => this.#rows.request([item])) : this.#requestOf(item);
    if (request instanceof Error) return request;
    const resultOf = (tensors: Tensors, trace: BatchTrace) =>
      isRow ? valueOrError(() => this.#rows.results(tensors)[0]) : resultToData(tensors, trace);
    return new Promise<unknown>((resolve) => {
      const sink = {
        resolve: (tensors: Tensors, trace: BatchTrace) => resolve(resultOf(tensors, trace)),
        reject: resolve,
      };
      tickets.push(this.#runner.enqueue(request, sink));
    });
  }

  /** Undefined for a row and for an invalid request. */
  #validRequest(item: unknown): ParsedRequest | undefined {
    if (!isRequestData(item)) return undefined;
    const parsed = this.#parsedOf(item);
    return parsed instanceof BatchwiseError ? undefined : parsed;
  }

  #requestOf(item: object): InferRequest | BatchwiseError {
    const parsed = this.#parsedOf(item);
    return parsed instanceof BatchwiseError ? parsed : parsed.request;
  }

  #parsedOf(item: object): ParsedRequest | BatchwiseError {
    const known = this.#parsed.get(item);
    if (known !== undefined) return known;
    const parsed = this.#parse(item);
    this.#parsed.set(item, parsed);
    return parsed;
  }

  #parse(item: object): ParsedRequest | BatchwiseError {
    const { name } = this.#runner;
    try {
      const request = requestFromData(item);
      return { request, rows: checkRequest(this.signature, this.#rowDim, request) };
    } catch (error) {
      if (error instanceof BatchwiseError) return error;
      const message = `${name}: invalid request: ${(error as Error).message}.`;
      return new BatchwiseError('INVALID_ITEM', message, { cause: error });
    }
  }
}

/** A result that is an error fails only its item. */
function valueOrError<T>(compute: () => T): T | Error {
  try {
    return compute();
  } catch (error) {
    return error as Error;
  }
}
