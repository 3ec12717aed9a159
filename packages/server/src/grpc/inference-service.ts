/** `inference.GRPCInferenceService`: what the models are and how they are, and the way to ask them. */

import type { BatchTrace, InferRequestMessage, ModelRunner, TensorSpec } from '@batchwise/runners';
import {
  type handleUnaryCall,
  Metadata,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { BatchwiseError } from 'batchwise';
import { checkReady, findModel, knownSignature, MODEL_VERSION, type ModelPlaces } from '../model-lookup.js';
import { type RequestTrust, withPeerTenant } from '../queue-options.js';
import { RequestError } from '../request-error.js';
import { callOptions } from './call-options.js';
import { grpcStatus } from './grpc-status.js';
import { inferRequest } from './infer-request.js';
import { inferResponse } from './infer-response.js';

export interface InferenceServiceOptions extends RequestTrust {
  readonly models: ReadonlyMap<string, ModelRunner>;
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
  isReady(): boolean;
  /** Not ready any more; what comes all the same has begun before and is answered. */
  isDraining(): boolean;
  /** Calls of models at a time; 0: no limit. */
  readonly maxInFlight: number;
  /** Elements of BYTES in one request. */
  readonly maxStrings: number;
  /** Of errors that are the server's fault, and whose text no client sees. */
  onFault(error: unknown): void;
}

/** The fields that name the model: of questions about it, and of the request to it. */
const QUESTION: ModelPlaces = { name: 'name', version: 'version' };
const INFER: ModelPlaces = { name: 'model_name', version: 'model_version' };

interface ModelQuestion {
  readonly name: string;
  readonly version: string;
}

export class InferenceService {
  readonly #options: InferenceServiceOptions;
  #inFlight = 0;

  constructor(options: InferenceServiceOptions) {
    this.#options = options;
  }

  /** As grpc-js takes it. */
  methods(): UntypedServiceImplementation {
    return {
      ServerLive: this.#answering(() => ({ live: true })),
      ServerReady: this.#answering(() => ({ ready: this.#isServing() })),
      ModelReady: this.#answering((question: ModelQuestion) => ({ ready: this.#isModelReady(question) })),
      ServerMetadata: this.#answering(() => this.#serverMetadata()),
      ModelMetadata: this.#answering((question: ModelQuestion) => this.#modelMetadata(question)),
      ModelInfer: this.#infer,
    };
  }

  #answering<Q, A>(answer: (request: Q) => A): handleUnaryCall<Q, A> {
    return (call, callback) => {
      try {
        callback(null, answer(readable(call.request)));
      } catch (error) {
        this.#fail(callback, error);
      }
    };
  }

  #isServing(): boolean {
    return this.#options.isReady() && !this.#options.isDraining();
  }

  #isModelReady({ name, version }: ModelQuestion): boolean {
    const { state } = findModel(this.#options.models, name, version, QUESTION);
    return state === 'ready' && !this.#options.isDraining();
  }

  #serverMetadata() {
    const { name, version, extensions } = this.#options;
    return { name, version, extensions };
  }

  #modelMetadata({ name, version }: ModelQuestion) {
    const model = findModel(this.#options.models, name, version, QUESTION);
    const signature = knownSignature(model, QUESTION);
    return {
      name,
      versions: [MODEL_VERSION],
      platform: model.platform,
      inputs: signature.inputs.map(tensorMetadata),
      outputs: signature.outputs.map(tensorMetadata),
    };
  }

  readonly #infer: handleUnaryCall<InferRequestMessage, Buffer> = (call, callback) => {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
      this.#inFlight -= 1;
    };
    this.#inFlight += 1;
    try {
      this.#admit();
      const request = readable(call.request);
      const model = findModel(this.#options.models, request.modelName, request.modelVersion, INFER);
      checkReady(model, INFER);
      const item = inferRequest(request, model.signature, this.#options.maxStrings);
      const ticket = model.enqueue(
        item,
        {
          resolve: (results, trace) => {
            settle();
            try {
              const response = inferResponse(request, results);
              call.sendMetadata(traceMetadata(trace));
              callback(null, response);
            } catch (error) {
              this.#fail(callback, error);
            }
          },
          reject: (error) => {
            settle();
            this.#fail(callback, error);
          },
        },
        withPeerTenant(
          callOptions(call, this.#options),
          model,
          () => call.getPeer(),
          this.#options.trustedHeaders,
        ),
      );
      // The event comes at the end of every call; the ticket of one that is answered ignores it.
      if (!isSettled) call.once('cancelled', () => ticket.cancel());
    } catch (error) {
      if (!isSettled) settle();
      this.#fail(callback, error);
    }
  };

  #admit(): void {
    const { maxInFlight } = this.#options;
    if (maxInFlight === 0 || this.#inFlight <= maxInFlight) return;
    throw new BatchwiseError('UNAVAILABLE', `Too many calls in flight (limit ${maxInFlight}).`);
  }

  #fail(callback: sendUnaryData<never>, error: unknown): void {
    const answer = grpcStatus(error);
    if (answer.code === status.INTERNAL) this.#options.onFault(error);
    callback(answer);
  }
}

/** What could not be decoded comes as the error that says so. */
function readable<Q>(request: Q | RequestError): Q {
  if (request instanceof RequestError) throw request;
  return request;
}

function tensorMetadata({ name, datatype, shape }: TensorSpec) {
  return { name, datatype, shape };
}

function traceMetadata({ batchSize, queueMs, computeMs }: BatchTrace): Metadata {
  const metadata = new Metadata();
  metadata.set('batchwise-batch-size', String(batchSize));
  metadata.set('batchwise-queue-ms', microseconds(queueMs));
  metadata.set('batchwise-compute-ms', microseconds(computeMs));
  return metadata;
}

/** Milliseconds with no more digits than the clock is good for. */
function microseconds(ms: number): string {
  return String(Math.round(ms * 1000) / 1000);
}
