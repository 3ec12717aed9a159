/** How calls ended: `'ok'` or a value for those that resolved, the error for those that did not. */
import { BatchwiseError } from 'batchwise';

export async function outcomes(calls: readonly Promise<unknown>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((each) => (each.status === 'fulfilled' ? (each.value ?? 'ok') : codeOf(each.reason)));
}

function codeOf(error: unknown): string {
  return error instanceof BatchwiseError ? error.code : String(error);
}
