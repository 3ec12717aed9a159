/** An endpoint that takes `{"instances": […]}` and gives `{"predictions": […]}`, one for each. */
import { BatchwiseError, type Clock } from 'batchwise';
import { JsonBody } from '../open-inference/json-body.js';
import { MessageError } from '../open-inference/message-error.js';
import { shownValue } from '../open-inference/shown-value.js';
import type { FunctionPeer, PeerBatch } from './function-peer.js';
import { HttpCaller } from './http-caller.js';
import { httpFailure } from './http-failure.js';
import { deadline } from './http-inference-peer.js';
import { answered, failed, type Outcome, unreadable } from './outcome.js';
import type { UpstreamTls } from './upstream-tls.js';

export interface PredictPeerOptions {
  readonly url: string;
  readonly tls: UpstreamTls | undefined;
  readonly connections: number;
  readonly clock?: Clock | undefined;
}

export class PredictPeer implements FunctionPeer {
  readonly url: string;
  readonly #caller: HttpCaller;

  constructor(options: PredictPeerOptions) {
    this.url = options.url;
    this.#caller = new HttpCaller(options);
  }

  async run({ items, context, timeoutMs }: PeerBatch): Promise<Outcome<undefined>> {
    let body: Buffer;
    try {
      body = Buffer.from(JSON.stringify({ instances: items }));
    } catch (error) {
      const message = `${this.url}: an item cannot be sent as JSON: ${(error as Error).message}`;
      return failed(new BatchwiseError('INVALID_ITEM', message, { cause: error }));
    }
    const outcome = await this.#caller.send({
      method: 'POST',
      url: this.url,
      headers: { 'content-type': 'application/json', ...deadline(timeoutMs) },
      body,
      timeoutMs,
      signal: context.signal,
    });
    if (outcome.kind === 'failed') return outcome;
    const { answer: reply } = outcome;
    if (reply.status !== 200) return httpFailure(this.url, reply);
    let predictions: unknown;
    try {
      ({ predictions } = new JsonBody(reply.body).value);
    } catch (error) {
      if (error instanceof MessageError) return unreadable(this.url, error);
      throw error;
    }
    if (!Array.isArray(predictions) || predictions.length !== items.length) {
      const came = shownValue(predictions);
      return unreadable(this.url, new Error(`expected ${items.length} predictions, got ${came}.`));
    }
    for (const [index, prediction] of predictions.entries()) context.answer(index, prediction);
    return answered(undefined);
  }

  async close(): Promise<void> {
    this.#caller.close();
  }
}
