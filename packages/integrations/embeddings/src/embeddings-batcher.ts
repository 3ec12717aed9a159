/** One request for the texts of a batch. */
import { type Fetch, requestJson, type StatusOptions } from '@batchwise/fetch';
import { type BatchContext, Batcher, type BatcherOptions, BatchwiseError, type Results } from 'batchwise';
import { embeddingsOf } from './embeddings-of.js';
import { estimatedTokens } from './estimated-tokens.js';

export interface EmbeddingsOptions
  extends Omit<BatcherOptions<string>, 'maxBatchSize' | 'costOf' | 'isolate'> {
  /** The whole URL of the endpoint, with its path. */
  readonly url: string | URL;
  readonly model: string;
  /**
   * Sent as `Authorization: Bearer …`.
   * @default no authorization
   */
  readonly apiKey?: string | undefined;
  /**
   * More headers of the request.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * The dimensions of the embeddings, for models that can shorten them.
   * @default those of the model
   */
  readonly dimensions?: number | undefined;
  /**
   * How embeddings are sent: `base64` takes half the bytes of `float` or less. Both are understood, whatever is asked for.
   * @default what the endpoint sends by itself
   */
  readonly encodingFormat?: 'float' | 'base64' | undefined;
  /**
   * The most tokens of a request.
   * @default 300000, the limit of OpenAI
   */
  readonly maxTokens?: number | undefined;
  /**
   * The most texts of a request.
   * @default 2048, the limit of OpenAI
   */
  readonly maxTexts?: number | undefined;
  /**
   * The most tokens of a text.
   * @default 8192, the limit of OpenAI
   */
  readonly maxTokensPerText?: number | undefined;
  /**
   * The tokens of a text.
   * @default an estimate: one for 4 ASCII characters, one for each other character
   */
  readonly countTokens?: ((text: string) => number) | undefined;
  /**
   * Sends the request.
   * @default the global fetch
   */
  readonly fetch?: Fetch | undefined;
}

const MAX_TOKENS = 300_000;
const MAX_TEXTS = 2048;
const MAX_TOKENS_PER_TEXT = 8192;

/** The length of the URL does not depend on the texts: 414 is not for one of them. */
const CONTENT_STATUSES: readonly number[] = [400, 413, 422];
const STATUS_OPTIONS: StatusOptions = {
  isForContent: (status) => CONTENT_STATUSES.includes(status),
  // OpenAI and Azure send it beside Retry-After, which has whole seconds.
  retryAfterMsHeader: 'retry-after-ms',
};

/** A text that every model accepts. */
const PROBE = 'a';

/**
 * A batcher that takes one text and returns its embedding. Callers with the same text share one array: it is not to be
 * changed.
 */
export function embeddingsBatcher(options: EmbeddingsOptions): Batcher<string, Float32Array> {
  checkOptions(options);
  const { url, model, apiKey, headers, dimensions, encodingFormat, fetch, ...withLimits } = options;
  const { maxTokens = MAX_TOKENS, maxTexts, maxTokensPerText, countTokens, ...batcherOptions } = withLimits;
  const endpoint = new Endpoint(options);
  return new Batcher((texts: string[], context) => endpoint.embed(texts, context), {
    ...batcherOptions,
    name: options.name ?? 'embeddings',
    dedupeBy: options.dedupeBy ?? ((text) => text),
    maxBatchSize: maxTokens,
    costOf: costOfText(options),
    isolate: true,
  });
}

class Endpoint {
  readonly #options: EmbeddingsOptions;
  /** It has answered a request with these options. */
  #isProven = false;

  constructor(options: EmbeddingsOptions) {
    this.#options = options;
  }

  /** Throws when the endpoint does not accept a text: the batcher finds out which, by requests with fewer texts. */
  async embed(texts: readonly string[], context: BatchContext): Promise<Results<Float32Array>> {
    const { name } = context;
    try {
      const answer = await this.#request(texts, context);
      return embeddingsOf(name, answer, texts.length, this.#options.dimensions);
    } catch (error) {
      const failure = await this.#failureOf(error as BatchwiseError, context);
      if (failure.code === 'INVALID_ITEM' && texts.length > 1) throw failure;
      return texts.map(() => failure);
    }
  }

  /**
   * An endpoint that accepts nothing, because of its model or another option, would be asked twice for each text of
   * the batch until it is known that no text is accepted.
   */
  async #failureOf(error: BatchwiseError, context: BatchContext): Promise<BatchwiseError> {
    if (error.code !== 'INVALID_ITEM' || this.#isProven) return error;
    try {
      await this.#request([PROBE], context);
      return error;
    } catch (probeError) {
      const { code } = probeError as BatchwiseError;
      if (code !== 'INVALID_ITEM') return probeError as BatchwiseError;
      return new BatchwiseError('HANDLER_FAILED', `${error.message} (any text is rejected)`, {
        cause: error.cause,
      });
    }
  }

  async #request(input: readonly string[], { name, signal }: BatchContext): Promise<unknown> {
    const { url, model, apiKey, headers, dimensions, encodingFormat, fetch } = this.#options;
    const init = {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        ...headers,
      },
      body: JSON.stringify({ model, input, dimensions, encoding_format: encodingFormat }),
      signal,
    };
    const answer = await requestJson(name, String(url), init, { ...STATUS_OPTIONS, fetch });
    this.#isProven = true;
    return answer;
  }
}

/**
 * Its tokens, or more: each text costs its share of the tokens where `maxTexts` share them, so that a batch that keeps to
 * `maxTokens` keeps to `maxTexts`, too.
 */
function costOfText(options: EmbeddingsOptions): (text: string) => number {
  const { maxTokens = MAX_TOKENS, maxTexts = MAX_TEXTS, countTokens = estimatedTokens } = options;
  const { maxTokensPerText = MAX_TOKENS_PER_TEXT } = options;
  // A little less, so that the sum of maxTexts shares is not above maxTokens by a rounding error.
  const share = (maxTokens / maxTexts) * (1 - 1e-9);
  return (text) => {
    if (typeof text !== 'string' || text === '') {
      throw invalidItem(
        `expected a text that is not empty, got ${text === '' ? 'an empty one' : typeof text}.`,
      );
    }
    const tokens = countTokens(text);
    if (tokens > maxTokensPerText) {
      const about = options.countTokens === undefined ? 'an estimated ' : '';
      throw invalidItem(
        `the text has ${about}${tokens} tokens, more than maxTokensPerText (${maxTokensPerText}).`,
      );
    }
    return Math.max(tokens, share);
  };
}

function invalidItem(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_ITEM', message);
}

function checkOptions(options: EmbeddingsOptions): void {
  const { url, model, encodingFormat, countTokens } = options;
  if (!isHttpUrl(String(url))) throw invalidOption('url', 'an http URL', url);
  if (typeof model !== 'string' || model === '') throw invalidOption('model', 'the name of a model', model);
  if (!['float', 'base64', undefined].includes(encodingFormat)) {
    throw invalidOption('encodingFormat', "'float' or 'base64'", encodingFormat);
  }
  if (countTokens !== undefined && typeof countTokens !== 'function') {
    throw invalidOption('countTokens', 'a function', countTokens);
  }
  for (const name of ['dimensions', 'maxTokens', 'maxTexts', 'maxTokensPerText'] as const) {
    const most = name === 'maxTexts' ? MAX_TEXTS : Number.MAX_SAFE_INTEGER;
    const value = options[name] ?? 1;
    if (Number.isSafeInteger(value) && value >= 1 && value <= most) continue;
    throw invalidOption(
      name,
      `a whole number from 1 ${name === 'maxTexts' ? `to ${MAX_TEXTS}` : 'up'}`,
      value,
    );
  }
  for (const fixed of ['maxBatchSize', 'costOf', 'isolate']) {
    if (options[fixed as keyof typeof options] === undefined) continue;
    const message = `${fixed} is not an option of embeddingsBatcher; see maxTokens, maxTexts and countTokens.`;
    throw new BatchwiseError('INVALID_OPTION', message);
  }
}

function invalidOption(name: string, expected: string, value: unknown): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', `${name}: expected ${expected}, got ${String(value)}.`);
}

/** Without its scheme, `localhost:8080` is a URL of the scheme `localhost`. */
function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
