/**
 * Requests to a model travel as plain data, each with all its rows; a request with more rows than the largest batch
 * travels in parts. The server loads the model for its signature only, and rejects invalid requests before they enter
 * the queue.
 */
import {
  checkRequest,
  enterInParts,
  type InferRequest,
  type RunnerSettings,
  type RunnerSink,
  type RunnerTicket,
  requestToData,
  resultFromData,
  rowDimOf,
  type Signature,
  type TensorModel,
  type Tensors,
} from '@batchwise/runners';
import { BatchwiseError } from 'batchwise';
import { type RequestForm, SETTLED, type SendItem } from './request-form.js';

export class ModelForm implements RequestForm<InferRequest, Tensors> {
  readonly kind = 'model';
  readonly platform: string;
  readonly payload = 'msgpack';
  readonly #name: string;
  readonly #model: TensorModel;
  #signature: Signature | undefined;

  constructor(name: string, model: TensorModel) {
    this.#name = name;
    this.#model = model;
    this.platform = model.platform;
  }

  async load(): Promise<Signature> {
    try {
      this.#signature = await this.#model.load();
      return this.#signature;
    } finally {
      await this.#model.close();
    }
  }

  enter(
    request: InferRequest,
    settings: RunnerSettings,
    sink: RunnerSink<Tensors>,
    send: SendItem,
  ): RunnerTicket {
    const signature = this.#signature as Signature;
    const rowDim = rowDimOf(signature, settings);
    let rows: number;
    try {
      rows = checkRequest(signature, rowDim, request);
    } catch (error) {
      sink.reject(error as Error);
      return SETTLED;
    }
    const { inputs, outputs } = request;
    const piece = { inputs, outputs: outputs?.length === 0 ? undefined : outputs, rows };
    const { batchDim, batching, redis } = settings;
    const isWhole = rowDim === undefined || !batching.enabled || rows <= batching.maxBatchSize;
    if (isWhole) return this.#send(piece, sink, send);
    const rule = {
      name: this.#name,
      batchDim,
      maxRows: batching.maxBatchSize,
      maxParts: redis.maxBacklog,
    };
    return enterInParts(piece, rule, sink, (part, partSink) => this.#send(part, partSink, send));
  }

  #send(request: InferRequest, sink: RunnerSink<Tensors>, send: SendItem): RunnerTicket {
    return send(requestToData(request), {
      resolve: (data, stayMs) => {
        let result: ReturnType<typeof resultFromData>;
        try {
          result = resultFromData(data);
        } catch (error) {
          const message = `${this.#name}: the result of the processor is invalid: ${(error as Error).message}.`;
          sink.reject(new BatchwiseError('BAD_RESULT', message, { cause: error }));
          return;
        }
        const { tensors, batchSize, computeMs } = result;
        sink.resolve(tensors, { batchSize, queueMs: Math.max(0, stayMs - computeMs), computeMs });
      },
      reject: (error) => sink.reject(error),
    });
  }
}
