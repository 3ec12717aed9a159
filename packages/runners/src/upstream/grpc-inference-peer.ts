/** The Open Inference Protocol over gRPC: one ModelInfer call per batch, with raw tensors. */
import { frameOf, PREFIX_BYTES } from '@batchwise/grpc';
import { writeInferRequest } from '../open-inference/infer-request-message.js';
import { readInferResponse, tensorsOfResponse } from '../open-inference/infer-response-message.js';
import { MessageError } from '../open-inference/message-error.js';
import {
  readModelMetadata,
  readReadyResponse,
  writeModelRequest,
} from '../open-inference/metadata-message.js';
import type { Signature, Tensors } from '../tensor.js';
import type { InferCall } from '../tensor-model.js';
import { GrpcCaller, type GrpcCallerOptions } from './grpc-caller.js';
import { answered, type Outcome, unreadable } from './outcome.js';
import { shownUrl } from './upstream-address.js';
import type { InferencePeer } from './upstream-peer.js';

export interface GrpcInferencePeerOptions extends GrpcCallerOptions {
  readonly url: string;
  readonly model: string;
  /** Empty: the server chooses. */
  readonly version: string;
}

const SERVICE = '/inference.GRPCInferenceService';

export class GrpcInferencePeer implements InferencePeer {
  readonly platform = 'upstream_grpc';
  readonly place: string;
  readonly #caller: GrpcCaller;
  readonly #model: string;
  readonly #version: string;

  constructor(options: GrpcInferencePeerOptions) {
    this.place = shownUrl(options.url);
    this.#model = options.model;
    this.#version = options.version;
    this.#caller = new GrpcCaller(options);
  }

  async checkReady(timeoutMs: number): Promise<void> {
    const isReady = await this.#query('ModelReady', timeoutMs, readReadyResponse);
    if (!isReady) throw new Error(`the model ${JSON.stringify(this.#model)} is not ready.`);
  }

  signature(timeoutMs: number): Promise<Signature> {
    return this.#query('ModelMetadata', timeoutMs, readModelMetadata);
  }

  async infer(inputs: Tensors, { outputs, signal, timeoutMs }: InferCall): Promise<Outcome<Tensors>> {
    const request = { modelName: this.#model, modelVersion: this.#version, id: '', inputs, outputs };
    const frame = writeInferRequest(request, PREFIX_BYTES);
    frame[0] = 0;
    frame.writeUInt32BE(frame.length - PREFIX_BYTES, 1);
    const outcome = await this.#caller.unary(`${SERVICE}/ModelInfer`, frame, { timeoutMs, signal });
    if (outcome.kind === 'failed') return outcome;
    try {
      return answered(tensorsOfResponse(readInferResponse(outcome.answer)));
    } catch (error) {
      if (error instanceof MessageError) return unreadable(error);
      throw error;
    }
  }

  onConnectionChange(listener: (error: Error | undefined) => void): void {
    this.#caller.onConnectionChange(listener);
  }

  close(): Promise<void> {
    return this.#caller.close();
  }

  async #query<T>(method: string, timeoutMs: number, read: (answer: Buffer) => T): Promise<T> {
    const frame = frameOf(writeModelRequest(this.#model, this.#version));
    const outcome = await this.#caller.unary(`${SERVICE}/${method}`, frame, { timeoutMs });
    if (outcome.kind === 'failed') throw outcome.error;
    return read(outcome.answer);
  }
}
