/**
 * Errors of single items of a batch, which gRPC has no word for: the backend may name them in the initial
 * metadata of its answer, `batchwise-item-error: <index> <status> <percent-encoded message>`, once for each.
 */
import { GrpcError } from './grpc-error.js';
import { STATUS } from './status.js';
import { decodeStatusMessage } from './status-message.js';

export const ITEM_ERROR_HEADER = 'batchwise-item-error';

const ENTRY = /^\s*(\d{1,7}) (\d{1,2})(?: (.*))?$/s;

/**
 * The errors by the item's place in the stream. What does not read as an entry belongs to the message before
 * it: headers of one name arrive joined by commas, and not everybody encodes those of a message. An entry of an
 * item that is not in the batch, or with a status that is none, is passed over, and what belongs to it too.
 */
export function parseItemErrors(
  header: string | readonly string[] | undefined,
  size: number,
): ReadonlyMap<number, GrpcError> {
  const texts = typeof header === 'string' ? [header] : (header ?? []);
  const entries: { index: number; status: number; message: string }[] = [];
  for (const part of texts.flatMap((text) => text.split(','))) {
    const found = ENTRY.exec(part);
    const last = entries.at(-1);
    if (found !== null) {
      entries.push({ index: Number(found[1]), status: Number(found[2]), message: found[3] ?? '' });
    } else if (last !== undefined) last.message += `,${part}`;
  }
  const errors = new Map<number, GrpcError>();
  for (const { index, status, message } of entries) {
    if (index >= size || status < STATUS.CANCELLED || status > STATUS.UNAUTHENTICATED) continue;
    if (!errors.has(index)) errors.set(index, new GrpcError(status, decodeStatusMessage(message)));
  }
  return errors;
}
