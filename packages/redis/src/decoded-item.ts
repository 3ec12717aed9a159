import { BatchwiseError } from 'batchwise';
import type { Codec } from './codec.js';
import type { Argument } from './connection/link.js';
import type { Delivery } from './delivery.js';

/** What was submitted. Its payload is let go of. */
export function decodedItem<I>(delivery: Delivery<I>, { kind, decode }: Codec, name: string): I {
  const { clientId, payload } = delivery;
  delivery.payload = undefined;
  if (!clientId.startsWith(`${kind}-`)) {
    const sent = clientId.slice(0, clientId.indexOf('-'));
    throw new BatchwiseError(
      'INVALID_ITEM',
      `${name}: the item was sent as ${sent}, but this processor expects ${kind}; set the same payload on both ends.`,
    );
  }
  try {
    return decode(payload as Argument) as I;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `${name}: the item cannot be decoded as ${kind}: ${reason}`;
    throw new BatchwiseError('INVALID_ITEM', message, { cause });
  }
}
