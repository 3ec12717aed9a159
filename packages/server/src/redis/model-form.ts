/**
 * Requests to a model travel as plain data, each with all its rows; one with more rows than a batch may have
 * travels in parts. The model's file is read here too, but only for what it takes and gives: requests that
 * it cannot take are refused before they travel.
 */
import {
  checkRequest,
  enterInParts,
  type InferRequest,
  OnnxModel,
  type RunnerSettings,
  type RunnerSink,
  type RunnerTicket,
  requestToData,
  resultFromData,
  rowDimOf,
  type Signature,
  type Tensors,
} from '@batchwise/runners';
import { BatchwiseError } from 'batchwise';
import { type RequestForm, SETTLED, type SendItem } from './request-form.js';

export class ModelForm implements RequestForm<InferRequest, Tensors> {
  readonly kind = 'model';
  readonly platform = 'onnxruntime_onnx';
  readonly payload = 'msgpack';
  readonly #name: string;
  readonly #file: string;
  #signature: Signature | undefined;

  constructor(name: string, file: string) {
    this.#name = name;
    this.#file = file;
  }

  async load(): Promise<Signature> {
    const model = new OnnxModel({ file: this.#file });
    try {
      this.#signature = await model.load();
      return this.#signature;
    } finally {
      await model.close();
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
          const message = `${this.#name}: the processor's answer cannot be read: ${(error as Error).message}.`;
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
