/** One request for the ids of a batch. */
import { type BatchContext, Batcher, type BatcherOptions, BatchwiseError, type Results } from 'batchwise';
import { matchRows } from './match-rows.js';
import { type Fetch, requestJson } from './request-json.js';

export type Id = string | number | bigint;

export interface BatchedFetchOptions<I extends Id, Row>
  extends Omit<BatcherOptions<I>, 'costOf' | 'isolate'> {
  /** The URL of the request for these ids. They are not encoded: use `encodeURIComponent` or a `URL`. */
  readonly url: string | URL | ((ids: readonly I[]) => string | URL);
  /** Of one row, the id that asks for it. */
  readonly keyOf: (row: Row) => Id;
  /**
   * The rows in the parsed answer.
   * @default the answer, which has to be an array
   */
  readonly rowsOf?: ((answer: unknown) => readonly (Row | null | undefined)[]) | undefined;
  /**
   * What a caller gets whose id has no row: `undefined`, or a `MissingRowError`.
   * @default 'undefined'
   */
  readonly missing?: 'undefined' | 'error' | undefined;
  /**
   * The body of the request for these ids: a string, or a value that is sent as JSON.
   * @default no body
   */
  readonly body?: ((ids: readonly I[]) => unknown) | undefined;
  /**
   * The method of the request.
   * @default 'POST' with a body, 'GET' without
   */
  readonly method?: string | undefined;
  /**
   * Headers of the request.
   * @default accept, and content-type where the body is JSON
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * The most ids of a request.
   * @default 100
   */
  readonly maxBatchSize?: number | undefined;
  /**
   * The most characters of a URL.
   * @default 8000, which all servers should support (RFC 9110, 4.1)
   */
  readonly maxUrlLength?: number | undefined;
  /**
   * Sends the request.
   * @default the global fetch
   */
  readonly fetch?: Fetch | undefined;
}

const MAX_BATCH_SIZE = 100;
const MAX_URL_LENGTH = 8000;

/** A batcher that takes one id and returns its row. */
export function batchedFetch<I extends Id, Row>(
  options: BatchedFetchOptions<I, Row> & { readonly missing: 'error' },
): Batcher<I, Row>;
export function batchedFetch<I extends Id, Row>(
  options: BatchedFetchOptions<I, Row>,
): Batcher<I, Row | undefined>;
export function batchedFetch<I extends Id, Row>(
  options: BatchedFetchOptions<I, Row>,
): Batcher<I, Row | undefined> {
  checkOptions(options);
  const { url, keyOf, rowsOf, missing, body, method, headers, maxUrlLength, fetch, ...batcherOptions } =
    options;
  return new Batcher((ids: I[], context) => fetchRows(ids, context, options), {
    ...batcherOptions,
    name: options.name ?? 'fetch',
    dedupeBy: options.dedupeBy ?? String,
    maxBatchSize: maxIds(options),
    costOf: typeof url === 'function' ? costOfUrl(url, options) : validId,
    isolate: true,
  });
}

/** Throws where another request with fewer of the ids may succeed: the batcher tries these. */
async function fetchRows<I extends Id, Row>(
  ids: readonly I[],
  { name, signal }: BatchContext,
  options: BatchedFetchOptions<I, Row>,
): Promise<Results<Row | undefined>> {
  const asked = [...new Map(ids.map((id) => [String(id), id])).values()];
  const url = urlOf(options, asked);
  checkLength(name, url, options);
  const init = { ...requestInit(options, asked), signal };
  try {
    const answer = await requestJson(name, url, init, { fetch: options.fetch });
    return matchRows(name, answer, ids, options);
  } catch (error) {
    if (error instanceof BatchwiseError) {
      if (error.code === 'INVALID_ITEM' && ids.length > 1) throw error;
      return ids.map(() => error);
    }
    const message = `${name}: the rows of the answer cannot be read by rowsOf or keyOf.`;
    const unreadable = new BatchwiseError('BAD_RESULT', message, { cause: error });
    return ids.map(() => unreadable);
  }
}

function requestInit<I extends Id, Row>(
  { method, headers, body: bodyOf }: BatchedFetchOptions<I, Row>,
  ids: readonly I[],
): RequestInit & { readonly method: string } {
  const accept = { accept: 'application/json' };
  if (bodyOf === undefined) return { method: method ?? 'GET', headers: { ...accept, ...headers } };
  const body = bodyOf(ids);
  if (typeof body === 'string') return { method: method ?? 'POST', headers: { ...accept, ...headers }, body };
  return {
    method: method ?? 'POST',
    headers: { ...accept, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
}

function urlOf<I extends Id, Row>({ url }: BatchedFetchOptions<I, Row>, ids: readonly I[]): string {
  return String(typeof url === 'function' ? url(ids) : url);
}

/**
 * What an id adds to the URL, as a share of what there is room for, in ids: as many ids as `maxBatchSize` says, or
 * fewer long ones.
 */
function costOfUrl<I extends Id, Row>(
  url: (ids: readonly I[]) => string | URL,
  options: BatchedFetchOptions<I, Row>,
): (id: I) => number {
  const { maxUrlLength = MAX_URL_LENGTH, name = 'fetch' } = options;
  return (id) => {
    validId(id);
    const alone = String(url([id]));
    checkLength(name, alone, options);
    const added = String(url([id, id])).length - alone.length;
    const room = maxUrlLength - (alone.length - added);
    return Math.max(1, (added * maxIds(options)) / room);
  };
}

/** The cost of an id where the URL does not depend on it. */
function validId(id: Id): number {
  if (['string', 'number', 'bigint'].includes(typeof id)) return 1;
  throw new BatchwiseError(
    'INVALID_ITEM',
    `expected a string, a number or a bigint as id, got ${typeof id}.`,
  );
}

function checkLength<I extends Id, Row>(
  name: string,
  url: string,
  { maxUrlLength = MAX_URL_LENGTH }: BatchedFetchOptions<I, Row>,
): void {
  if (url.length <= maxUrlLength) return;
  const message = `${name}: the URL has ${url.length} characters, more than maxUrlLength (${maxUrlLength}).`;
  throw new BatchwiseError('INVALID_ITEM', message);
}

/** A URL has no room for more ids than characters. */
function maxIds<I extends Id, Row>({
  url,
  maxBatchSize = MAX_BATCH_SIZE,
  maxUrlLength = MAX_URL_LENGTH,
}: BatchedFetchOptions<I, Row>): number {
  const isUnlimited = maxBatchSize === Number.POSITIVE_INFINITY || maxBatchSize === -1;
  return isUnlimited && typeof url === 'function' ? maxUrlLength : maxBatchSize;
}

function checkOptions<I extends Id, Row>(options: BatchedFetchOptions<I, Row>): void {
  const { url, keyOf, rowsOf, body, missing, maxUrlLength = MAX_URL_LENGTH } = options;
  if (typeof url !== 'function' && typeof url !== 'string' && !(url instanceof URL)) {
    throw invalidOption('url', 'a URL, or a function that makes one from ids', url);
  }
  if (typeof keyOf !== 'function') throw invalidOption('keyOf', 'a function', keyOf);
  if (rowsOf !== undefined && typeof rowsOf !== 'function')
    throw invalidOption('rowsOf', 'a function', rowsOf);
  if (body !== undefined && typeof body !== 'function') throw invalidOption('body', 'a function', body);
  if (missing !== undefined && missing !== 'undefined' && missing !== 'error') {
    throw invalidOption('missing', "'undefined' or 'error'", missing);
  }
  if (!Number.isSafeInteger(maxUrlLength) || maxUrlLength < 1) {
    throw invalidOption('maxUrlLength', 'a whole number from 1 up', maxUrlLength);
  }
  for (const fixed of ['costOf', 'isolate']) {
    if (options[fixed as keyof typeof options] !== undefined)
      throw new BatchwiseError('INVALID_OPTION', `${fixed} is not an option of batchedFetch.`);
  }
}

function invalidOption(name: string, expected: string, value: unknown): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', `${name}: expected ${expected}, got ${String(value)}.`);
}
