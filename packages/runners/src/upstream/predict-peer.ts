/** An HTTP endpoint with `{"instances": […]}` in and `{"predictions": […]}` out, one prediction per instance. */
import { BatchwiseError, type Clock } from 'batchwise';
import { JsonBody } from '../open-inference/json-body.js';
import { MessageError } from '../open-inference/message-error.js';
import { shownValue } from '../open-inference/shown-value.js';
import { HttpCaller, timeoutHeader } from './http-caller.js';
import { httpFailure, unreadableJson } from './http-failure.js';
import { answered, type Outcome, unreadable } from './outcome.js';
import { shownUrl } from './upstream-address.js';
import type { FunctionPeer, PeerBatch } from './upstream-peer.js';
import type { UpstreamTls } from './upstream-tls.js';

export interface PredictPeerOptions {
  readonly url: string;
  readonly tls: UpstreamTls | undefined;
  readonly connections: number;
  readonly clock?: Clock | undefined;
}

export class PredictPeer implements FunctionPeer {
  readonly place: string;
  readonly #url: string;
  readonly #caller: HttpCaller;

  constructor(options: PredictPeerOptions) {
    this.place = shownUrl(options.url);
    this.#url = options.url;
    this.#caller = new HttpCaller(options);
  }

  async run({ items, context, timeoutMs }: PeerBatch): Promise<Outcome<undefined>> {
    const outcome = await this.#caller.send({
      method: 'POST',
      url: this.#url,
      headers: { 'content-type': 'application/json', ...timeoutHeader(timeoutMs) },
      body: bodyOf(items),
      timeoutMs,
      signal: context.signal,
    });
    if (outcome.kind === 'failed') return outcome;
    const { answer: reply } = outcome;
    if (reply.status !== 200) return httpFailure(reply);
    let predictions: unknown;
    try {
      ({ predictions } = new JsonBody(reply.body).value);
    } catch (error) {
      if (error instanceof MessageError) return unreadableJson(error, reply.body);
      throw error;
    }
    if (!Array.isArray(predictions) || predictions.length !== items.length) {
      const got = shownValue(predictions);
      return unreadable(new Error(`expected ${items.length} predictions, got ${got}.`));
    }
    for (const [index, prediction] of predictions.entries()) context.answer(index, prediction);
    return answered(undefined);
  }

  async close(): Promise<void> {
    this.#caller.close();
  }
}

/** Thrown, not returned as an outcome: the upstream was not called. */
function bodyOf(items: readonly unknown[]): Buffer {
  try {
    return Buffer.from(JSON.stringify({ instances: items }));
  } catch (error) {
    const message = `an item cannot be sent as JSON: ${(error as Error).message}`;
    throw new BatchwiseError('INVALID_ITEM', message, { cause: error });
  }
}
