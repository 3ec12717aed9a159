/**
 * One batch request and its answer by entry. The answer names the entries that succeeded and those that failed; a
 * request that the service rejects because of one entry is split until only that entry fails.
 */
import type { FailedEntry, ServiceErrors } from './service-errors.js';

export interface Entry {
  readonly Id?: string | undefined;
}

export interface Answer<S extends Entry> {
  readonly Successful?: readonly S[] | undefined;
  readonly Failed?: readonly FailedEntry[] | undefined;
}

/** For each entry, by `Id`, what the service says about it, or the error. */
export async function batchRequest<E extends Entry, S extends Entry>(
  entries: readonly E[],
  send: (entries: E[]) => Promise<Answer<S>>,
  operation: string,
  errors: ServiceErrors,
): Promise<Map<string | undefined, S | Error>> {
  const results = new Map<string | undefined, S | Error>();
  if (entries.length === 0) return results;
  try {
    const { Successful, Failed } = await send([...entries]);
    for (const { Id } of entries) results.set(Id, errors.missingEntry(operation));
    for (const success of Successful ?? []) results.set(success.Id, success);
    for (const failure of Failed ?? []) results.set(failure.Id, errors.entryFailure(failure, operation));
  } catch (thrown) {
    if (errors.isRejection(thrown) && entries.length > 1) {
      const middle = entries.length >> 1;
      const first = await batchRequest(entries.slice(0, middle), send, operation, errors);
      const second = await batchRequest(entries.slice(middle), send, operation, errors);
      return new Map([...first, ...second]);
    }
    const error = errors.failureOf(thrown, operation);
    for (const { Id } of entries) results.set(Id, error);
  }
  return results;
}
