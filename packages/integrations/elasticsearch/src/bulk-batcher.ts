/** One bulk request for the operations of a batch. */
import type { Fetch } from '@batchwise/fetch';
import { type BatchContext, Batcher, type BatcherOptions, BatchwiseError, type Results } from 'batchwise';
import { type BulkOperation, linesOf } from './bulk-operation.js';
import { type BulkClient, type SendBulk, sendByClient, sendByHttp } from './bulk-request.js';
import { type BulkResult, bulkResults } from './bulk-results.js';

export type BulkAuth =
  | { readonly username: string; readonly password: string }
  | { readonly apiKey: string }
  | { readonly bearer: string };

export interface BulkBatcherOptions
  extends Omit<BatcherOptions<BulkOperation>, 'maxBatchSize' | 'costOf' | 'isolate' | 'dedupeBy'> {
  /** The URL of the service: `http://localhost:9200`. */
  readonly node?: string | URL | undefined;
  /** A client of `@elastic/elasticsearch` or `@opensearch-project/opensearch`, in place of `node`. */
  readonly client?: BulkClient | undefined;
  /**
   * The index of operations that name none.
   * @default none: each operation has to name its own
   */
  readonly index?: string | undefined;
  /**
   * Who the requests are from.
   * @default user and password in the URL, if there are any
   */
  readonly auth?: BulkAuth | undefined;
  /**
   * More headers of the request.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * The most bytes of a request, up to 104857600, the limit of Elasticsearch (`http.max_content_length`).
   * @default 5242880
   */
  readonly maxBytes?: number | undefined;
  /**
   * Sends the request.
   * @default the global fetch
   */
  readonly fetch?: Fetch | undefined;
}

const DEFAULT_BYTES = 5 * 2 ** 20;
const MOST_BYTES = 100 * 2 ** 20;
const encoder = new TextEncoder();

/**
 * A batcher that takes one operation and returns what became of it. With `concurrency` 1, the default, operations are
 * executed in the order in which they were submitted.
 */
export function bulkBatcher(options: BulkBatcherOptions): Batcher<BulkOperation, BulkResult> {
  checkOptions(options);
  const { node, client, index, auth, headers, maxBytes = DEFAULT_BYTES, fetch, ...batcherOptions } = options;
  const send = client === undefined ? httpSender(options) : sendByClient(client, index);
  // Written when an operation is submitted, to know its size, and to be safe from later changes of the document.
  const written = new WeakMap<BulkOperation, string>();

  /** Throws when the whole request is rejected for its content: the batcher finds out for which operation. */
  async function write(
    operations: readonly BulkOperation[],
    { name, signal }: BatchContext,
  ): Promise<Results<BulkResult>> {
    const lines = operations.map((operation) => written.get(operation) ?? linesOf(operation, index)).join('');
    let results: Results<BulkResult>;
    try {
      results = bulkResults(name, await send(name, lines, signal), operations.length);
    } catch (error) {
      const isForContent = error instanceof BatchwiseError && error.code === 'INVALID_ITEM';
      if (isForContent && operations.length > 1) throw error;
      const failure = error instanceof Error ? error : unknownFailure(name, error);
      results = operations.map(() => failure);
    }
    for (const operation of operations) written.delete(operation);
    return results;
  }

  return new Batcher(write, {
    ...batcherOptions,
    name: options.name ?? 'elasticsearch',
    maxBatchSize: maxBytes,
    costOf: (operation) => {
      const lines = linesOf(operation, index);
      written.set(operation, lines);
      return encoder.encode(lines).length;
    },
    isolate: true,
  });
}

/** A client may reject with anything. */
function unknownFailure(name: string, cause: unknown): BatchwiseError {
  return new BatchwiseError('HANDLER_FAILED', `${name}: the client failed: ${String(cause)}`, { cause });
}

function httpSender({ node, index, auth, headers, fetch }: BulkBatcherOptions): SendBulk {
  const url = new URL(String(node));
  const { username, password } = url;
  // fetch rejects URLs with a password.
  url.username = '';
  url.password = '';
  const path = index === undefined ? '_bulk' : `${encodeURIComponent(index)}/_bulk`;
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`;
  const inUrl = {
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
  };
  const identity = auth ?? (username === '' ? undefined : inUrl);
  const allHeaders = {
    'content-type': 'application/x-ndjson',
    accept: 'application/json',
    ...(identity === undefined ? {} : { authorization: authorizationOf(identity) }),
    ...headers,
  };
  return sendByHttp(url.href, allHeaders, fetch);
}

function authorizationOf(auth: BulkAuth): string {
  if ('apiKey' in auth) return `ApiKey ${auth.apiKey}`;
  if ('bearer' in auth) return `Bearer ${auth.bearer}`;
  // RFC 7617: base64 of the bytes, here of UTF-8.
  return `Basic ${btoa(String.fromCharCode(...encoder.encode(`${auth.username}:${auth.password}`)))}`;
}

function checkOptions(options: BulkBatcherOptions): void {
  const { node, client, index, maxBytes = DEFAULT_BYTES } = options;
  if ((node === undefined) === (client === undefined)) {
    throw invalidOption('expected either node or client.');
  }
  if (node !== undefined && !isHttpUrl(String(node))) {
    throw invalidOption(`node: expected an http URL, got ${String(node)}.`);
  }
  if (client !== undefined && typeof client?.bulk !== 'function') {
    throw invalidOption('client: expected an object with bulk().');
  }
  if (index !== undefined && (typeof index !== 'string' || index === '')) {
    throw invalidOption(`index: expected the name of an index, got ${String(index)}.`);
  }
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 1 || maxBytes > MOST_BYTES) {
    throw invalidOption(
      `maxBytes: expected a whole number from 1 to ${MOST_BYTES}, got ${String(maxBytes)}.`,
    );
  }
  for (const fixed of ['maxBatchSize', 'costOf', 'isolate', 'dedupeBy']) {
    if (options[fixed as keyof typeof options] !== undefined)
      throw invalidOption(`${fixed} is not an option of bulkBatcher; see maxBytes.`);
  }
}

function invalidOption(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', message);
}

/** Without its scheme, `localhost:9200` is a URL of the scheme `localhost`. */
function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
