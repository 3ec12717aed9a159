/** The Open Inference Protocol over REST: one POST per batch, with the tensors after the JSON or in it. */
import { BatchwiseError, type Clock } from 'batchwise';
import { BINARY_HEADER } from '../open-inference/binary-tail.js';
import { countNonFinite } from '../open-inference/elements-to-json.js';
import { JsonBody } from '../open-inference/json-body.js';
import { jsonInferRequest } from '../open-inference/json-infer-request.js';
import { tensorsOfJsonResponse } from '../open-inference/json-infer-response.js';
import { MessageError } from '../open-inference/message-error.js';
import { signatureOfJson } from '../open-inference/metadata-message.js';
import type { Signature, Tensors } from '../tensor.js';
import type { InferCall } from '../tensor-model.js';
import { HttpCaller, timeoutHeader } from './http-caller.js';
import { type HttpReply, httpFailure, unreadableJson } from './http-failure.js';
import { answered, type Outcome } from './outcome.js';
import { shownUrl } from './upstream-address.js';
import type { InferencePeer } from './upstream-peer.js';
import type { UpstreamTls } from './upstream-tls.js';

export interface HttpInferencePeerOptions {
  readonly url: string;
  /** The part of the URL before `/v2`. */
  readonly origin: string;
  readonly model: string;
  /** Empty: the server chooses. */
  readonly version: string;
  readonly format: 'binary' | 'json';
  readonly tls: UpstreamTls | undefined;
  readonly connections: number;
  readonly clock?: Clock | undefined;
}

export class HttpInferencePeer implements InferencePeer {
  readonly platform = 'upstream_http';
  readonly place: string;
  readonly #caller: HttpCaller;
  /** The URL of the model. */
  readonly #path: string;
  readonly #isBinary: boolean;
  #requests = 0;

  constructor(options: HttpInferencePeerOptions) {
    const { url, origin, model, version, format } = options;
    this.place = shownUrl(url);
    this.#isBinary = format === 'binary';
    const versionPath = version === '' ? '' : `/versions/${encodeURIComponent(version)}`;
    this.#path = `${origin}/v2/models/${encodeURIComponent(model)}${versionPath}`;
    this.#caller = new HttpCaller(options);
  }

  async checkReady(timeoutMs: number): Promise<void> {
    const { body } = await this.#get(`${this.#path}/ready`, timeoutMs);
    if (isNotReady(body)) throw new Error('the model is not ready: the upstream returned {"ready": false}.');
  }

  async signature(timeoutMs: number): Promise<Signature> {
    const { body } = await this.#get(this.#path, timeoutMs);
    return signatureOfJson(new JsonBody(body).value);
  }

  async infer(inputs: Tensors, { outputs, signal, timeoutMs }: InferCall): Promise<Outcome<Tensors>> {
    const isBinary = this.#isBinary;
    if (!isBinary) checkFinite(inputs);
    const id = String(++this.#requests);
    const { headers, body } = jsonInferRequest({ id, inputs, outputs, isBinary });
    const outcome = await this.#caller.send({
      method: 'POST',
      url: `${this.#path}/infer`,
      headers: { ...headers, ...timeoutHeader(timeoutMs) },
      body,
      timeoutMs,
      signal,
    });
    if (outcome.kind === 'failed') return outcome;
    const { answer: reply } = outcome;
    if (reply.status !== 200) return httpFailure(reply);
    try {
      return answered(tensorsOfJsonResponse(reply.body, reply.headers[BINARY_HEADER], id));
    } catch (error) {
      if (error instanceof MessageError) return unreadableJson(error, reply.body);
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
    throw httpFailure(outcome.answer).error;
  }
}

/** Some servers report this with status 200. For others the status alone counts. */
function isNotReady(body: Buffer): boolean {
  try {
    return (JSON.parse(body.toString('utf8')) as { ready?: unknown } | null)?.ready === false;
  } catch {
    return false;
  }
}

/** JSON would turn NaN and Infinity into null. Thrown, not returned as an outcome: the upstream was not called. */
function checkFinite(inputs: Tensors): void {
  for (const [name, tensor] of inputs) {
    if (countNonFinite(tensor) === 0) continue;
    const message = `inputs: ${JSON.stringify(name)} contains NaN or Infinity, which JSON cannot represent (format: json).`;
    throw new BatchwiseError('INVALID_ITEM', message);
  }
}
