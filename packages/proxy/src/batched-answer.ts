/** Finds out whether a result of a batched method can be sent, before @grpc/grpc-js ends the whole call because of it. */
import { BatchwiseError } from 'batchwise';
import type { ServedMethod } from './batched-call.js';
import { batchedStatus } from './batched-status.js';

/** The error of its item, when it cannot be; else undefined. */
export function whyUnsendable(
  { name, serialize }: Pick<ServedMethod, 'name' | 'serialize'>,
  result: unknown,
  index: number,
): BatchwiseError | undefined {
  try {
    serialize(result);
    return undefined;
  } catch (cause) {
    const message = `"${name}" returned something for item ${index} that is no message of its kind: ${batchedStatus(cause).details}`;
    return new BatchwiseError('BAD_RESULT', message, { cause });
  }
}
