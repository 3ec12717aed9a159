/** One bulk request, by HTTP or by a client, and what its failures mean for the callers of a batch. */
import { type Fetch, requestJson, statusError } from '@batchwise/fetch';
import { BatchwiseError } from 'batchwise';

/** A client of `@elastic/elasticsearch` or `@opensearch-project/opensearch`. */
export interface BulkClient {
  bulk(params: never, options: never): PromiseLike<unknown>;
}

/** Sends the lines of operations; resolves to the parsed answer. */
export type SendBulk = (name: string, lines: string, signal: AbortSignal) => Promise<unknown>;

export function sendByHttp(url: string, headers: Readonly<Record<string, string>>, fetch?: Fetch): SendBulk {
  return (name, lines, signal) =>
    requestJson(name, url, { method: 'POST', headers, body: lines, signal }, { isForContent, fetch });
}

/** What errors of both clients have in common. */
interface ClientError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly statusCode?: unknown;
  readonly meta?: { readonly headers?: Readonly<Record<string, unknown>> | null } | null;
}

const CONNECTION_ERRORS: readonly unknown[] = ['ConnectionError', 'TimeoutError', 'NoLivingConnectionsError'];

export function sendByClient(client: BulkClient, index: string | undefined): SendBulk {
  return async (name, lines, signal) => {
    try {
      const params = index === undefined ? { body: lines } : { index, body: lines };
      const answer = await client.bulk(params as never, { signal } as never);
      // The client for OpenSearch, and that for Elasticsearch 7, resolve to the whole response.
      return (answer as { body?: unknown } | null)?.body ?? answer;
    } catch (thrown) {
      const { name: kind, message, statusCode, meta } = (thrown ?? {}) as ClientError;
      if (typeof statusCode === 'number' && statusCode >= 400) {
        const headers = { get: (header: string) => String(meta?.headers?.[header] ?? '') };
        const rejected = { status: statusCode, headers, body: String(message), cause: thrown };
        throw statusError(name, rejected, { isForContent });
      }
      if (!CONNECTION_ERRORS.includes(kind)) throw thrown;
      throw new BatchwiseError('UNAVAILABLE', `${name}: the service does not answer.`, { cause: thrown });
    }
  };
}

/**
 * A whole request is rejected, before anything of it is executed, though it may be for one operation: an _id of more
 * than 512 bytes, an action line with an unknown parameter. 413: it is too large. A page with status 400 comes from
 * another server, such as one that expects https.
 */
function isForContent(status: number, body: string): boolean {
  return status === 413 || (status === 400 && !/^\s*</.test(body));
}
