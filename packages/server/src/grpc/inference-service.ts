/** `inference.GRPCInferenceService`: what the models are and how they are, and the way to ask them. */

import type { BatchTrace, ModelRunner, TensorSpec } from '@batchwise/runners';
import {
  type handleUnaryCall,
  Metadata,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { RequestError } from '../request-error.js';
import { callOptions } from './call-options.js';
import { grpcStatus } from './grpc-status.js';
import type { InferRequestMessage } from './infer-message.js';
import { inferRequest } from './infer-request.js';
import { inferResponseMessage } from './infer-response-message.js';
import { MODEL_VERSION, ModelDirectory } from './model-directory.js';

export interface InferenceServiceOptions {
  readonly models: ReadonlyMap<string, ModelRunner>;
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
  isReady(): boolean;
  /** Not ready any more; what comes all the same has begun before and is answered. */
  isDraining(): boolean;
  /** Of errors that are the server's fault, and whose text no client sees. */
  onFault(error: unknown): void;
}

interface ModelQuestion {
  readonly name: string;
  readonly version: string;
}

export class InferenceService {
  readonly #options: InferenceServiceOptions;
  readonly #models: ModelDirectory;

  constructor(options: InferenceServiceOptions) {
    this.#options = options;
    this.#models = new ModelDirectory(options.models);
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
    return this.#models.find(name, version, '').state === 'ready' && !this.#options.isDraining();
  }

  #serverMetadata() {
    const { name, version, extensions } = this.#options;
    return { name, version, extensions };
  }

  #modelMetadata({ name, version }: ModelQuestion) {
    const { signature, platform, state } = this.#models.find(name, version, '');
    if (!signature) {
      throw new RequestError('NOT_READY', `what the model takes is not known: it is ${state}.`, {
        where: 'name',
      });
    }
    return {
      name,
      versions: [MODEL_VERSION],
      platform,
      inputs: signature.inputs.map(tensorMetadata),
      outputs: signature.outputs.map(tensorMetadata),
    };
  }

  readonly #infer: handleUnaryCall<InferRequestMessage, Buffer> = (call, callback) => {
    let isSettled = false;
    try {
      const request = readable(call.request);
      const model = this.#models.findReady(request.modelName, request.modelVersion, 'model_');
      const item = inferRequest(request, model.signature);
      const ticket = model.enqueue(
        item,
        {
          resolve: (results, trace) => {
            isSettled = true;
            try {
              const response = inferResponseMessage(request, results);
              call.sendMetadata(traceMetadata(trace));
              callback(null, response);
            } catch (error) {
              this.#fail(callback, error);
            }
          },
          reject: (error) => {
            isSettled = true;
            this.#fail(callback, error);
          },
        },
        callOptions(call),
      );
      // The event comes at the end of every call; the ticket of one that is answered ignores it.
      if (!isSettled) call.once('cancelled', () => ticket.cancel());
    } catch (error) {
      this.#fail(callback, error);
    }
  };

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
