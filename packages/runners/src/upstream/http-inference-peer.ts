/** The Open Inference Protocol over REST: a batch is one POST, its tensors behind the JSON or in it. */
import type { Clock } from 'batchwise';
import { BINARY_HEADER } from '../open-inference/binary-tail.js';
import { JsonBody } from '../open-inference/json-body.js';
import { jsonInferRequest } from '../open-inference/json-infer-request.js';
import { tensorsOfJsonResponse } from '../open-inference/json-infer-response.js';
import { MessageError } from '../open-inference/message-error.js';
import { signatureOfJson } from '../open-inference/metadata-message.js';
import type { Signature, Tensors } from '../tensor.js';
import type { InferCall } from '../tensor-model.js';
import { HttpCaller } from './http-caller.js';
import { type HttpReply, httpFailure } from './http-failure.js';
import type { InferencePeer } from './inference-peer.js';
import { answered, type Outcome, unreadable } from './outcome.js';
import type { UpstreamTls } from './upstream-tls.js';

export interface HttpInferencePeerOptions {
  readonly url: string;
  /** What comes before `/v2`. */
  readonly origin: string;
  readonly model: string;
  /** Empty leaves the choice to the server. */
  readonly version: string;
  readonly format: 'binary' | 'json';
  readonly tls: UpstreamTls | undefined;
  readonly connections: number;
  readonly clock?: Clock | undefined;
}

export class HttpInferencePeer implements InferencePeer {
  readonly platform = 'upstream_http';
  readonly url: string;
  readonly #caller: HttpCaller;
  /** Of the model. */
  readonly #path: string;
  readonly #isBinary: boolean;

  constructor(options: HttpInferencePeerOptions) {
    const { url, origin, model, version, format } = options;
    this.url = url;
    this.#isBinary = format === 'binary';
    const versionPath = version === '' ? '' : `/versions/${encodeURIComponent(version)}`;
    this.#path = `${origin}/v2/models/${encodeURIComponent(model)}${versionPath}`;
    this.#caller = new HttpCaller(options);
  }

  async checkReady(timeoutMs: number): Promise<void> {
    await this.#get(`${this.#path}/ready`, timeoutMs);
  }

  async signature(timeoutMs: number): Promise<Signature> {
    const { body } = await this.#get(this.#path, timeoutMs);
    return signatureOfJson(new JsonBody(body).value);
  }

  async infer(inputs: Tensors, { outputs, signal, timeoutMs }: InferCall): Promise<Outcome<Tensors>> {
    const { headers, body } = jsonInferRequest(inputs, outputs, this.#isBinary);
    const outcome = await this.#caller.send({
      method: 'POST',
      url: `${this.#path}/infer`,
      headers: { ...headers, ...deadline(timeoutMs) },
      body,
      timeoutMs,
      signal,
    });
    if (outcome.kind === 'failed') return outcome;
    const { answer: reply } = outcome;
    if (reply.status !== 200) return httpFailure(this.url, reply);
    try {
      return answered(tensorsOfJsonResponse(reply.body, reply.headers[BINARY_HEADER]));
    } catch (error) {
      if (error instanceof MessageError) return unreadable(this.url, error);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#caller.close();
  }

  async #get(url: string, timeoutMs: number): Promise<HttpReply> {
    const outcome = await this.#caller.send({ method: 'GET', url, timeoutMs });
    if (outcome.kind === 'failed') throw outcome.error;
    if (outcome.answer.status === 200) return outcome.answer;
    throw httpFailure(this.url, outcome.answer).error;
  }
}

/** HTTP has no word for it; this one is Batchwise's own, and others pass over it. */
export function deadline(timeoutMs: number): Record<string, string> {
  return Number.isFinite(timeoutMs)
    ? { 'batchwise-timeout-ms': String(Math.max(1, Math.floor(timeoutMs))) }
    : {};
}
