/** Messages in requests of up to ten entries with a total size: SendMessageBatch of SQS, PublishBatch of SNS. */
import { Batcher, type BatcherOptions, BatchwiseError } from 'batchwise';
import { type Answer, batchRequest } from './batch-request.js';
import { InOrder } from './in-order.js';
import { checkWithin, invalidItem, invalidOption } from './invalid-input.js';
import {
  type AcceptedMessage,
  type Attribute,
  bytesOf,
  entryOf,
  type Message,
  type MessageEntry,
  type MessageFormat,
} from './message-entry.js';
import type { ServiceErrors } from './service-errors.js';

export interface EntryBatcherOptions<M> extends Omit<BatcherOptions<M>, 'costOf'> {
  /**
   * The most bytes in one request, all messages together; also the most for one message. SQS takes 1 MiB since August
   * 2025, SNS if the topic's MaximumMessageSize says so; a queue with a smaller MaximumMessageSize, and most emulators,
   * take 256 KiB.
   * @default 262144 (256 KiB)
   */
  readonly maxBatchBytes?: number | undefined;
}

/** What differs between the services. */
export interface EntryOperation<M extends Message<A>, Fields, A extends Attribute>
  extends MessageFormat<M, Fields, A> {
  readonly operation: string;
  readonly errors: ServiceErrors;
  send(
    entries: (Fields & MessageEntry<A>)[],
    options: { readonly abortSignal: AbortSignal },
  ): Promise<Answer<AcceptedEntry>>;
}

interface AcceptedEntry {
  readonly Id?: string | undefined;
  readonly MessageId?: string | undefined;
  readonly SequenceNumber?: string | undefined;
}

const MAX_ENTRIES = 10;
const DEFAULT_BATCH_BYTES = 256 * 1024;
const MAX_BATCH_BYTES = 1024 * 1024;

/**
 * How many requests are in flight at a time unless the user says otherwise. A request takes 10 to 20 ms: one at a time
 * would send less than a thousand messages a second.
 */
const DEFAULT_CONCURRENCY = 8;

export function entryBatcher<M extends Message<A>, Fields, A extends Attribute>(
  service: EntryOperation<M, Fields, A>,
  options: EntryBatcherOptions<M>,
): Batcher<M, AcceptedMessage> {
  const { maxBatchBytes = DEFAULT_BATCH_BYTES, ...rest } = options;
  const { maxBatchSize = MAX_ENTRIES, concurrency = DEFAULT_CONCURRENCY, name = service.operation } = rest;
  checkWithin('maxBatchBytes', maxBatchBytes, 1, MAX_BATCH_BYTES);
  checkWithin('maxBatchSize', maxBatchSize, 1, MAX_ENTRIES);
  if ('costOf' in rest)
    throw invalidOption('costOf: the size of a message is its cost. Leave the option out.');
  const inOrder = new InOrder();

  /** A batch is full at `maxBatchSize` messages or at `maxBatchBytes`, whatever comes first. */
  const costOf = (message: M) => {
    try {
      const bytes = bytesOf(service.textOf(message), message.attributes);
      const share = (maxBatchSize * bytes) / maxBatchBytes;
      return Math.min(maxBatchSize, Math.max(1, share)); // a message that is too large fails with an error of its own
    } catch {
      return 1; // not a message: fails with an error of its own, too
    }
  };

  return new Batcher<M, AcceptedMessage>(
    async (messages, context) => {
      const results = new Array<AcceptedMessage | Error>(messages.length);
      const entries: (Fields & MessageEntry<A>)[] = [];
      const gone = new Set<string>();
      context.onGone((position) => gone.add(String(position)));
      for (const [position, message] of messages.entries()) {
        try {
          entries.push(entryOf(message, String(position), service, maxBatchBytes));
        } catch (thrown) {
          const isKnown = thrown instanceof BatchwiseError;
          results[position] = isKnown ? thrown : invalidItem(`expected a message: ${thrown}`);
        }
      }
      const send = async () => {
        // While a batch waited for an earlier one of its message groups, callers may have given up.
        const wanted = entries.filter(({ Id }) => !gone.has(Id));
        const request = (some: typeof entries) => service.send(some, { abortSignal: context.signal });
        for (const [id, result] of await batchRequest(wanted, request, name, service.errors)) {
          results[Number(id)] = result instanceof Error ? result : acceptedMessage(result);
        }
      };
      const groups = new Set(entries.map(({ MessageGroupId = '' }) => MessageGroupId));
      if (service.isFifo) await inOrder.run(groups, send);
      else await send();
      return results;
    },
    { ...rest, maxBatchSize, concurrency, name, costOf },
  );
}

function acceptedMessage({ MessageId = '', SequenceNumber }: AcceptedEntry): AcceptedMessage {
  return SequenceNumber === undefined
    ? { messageId: MessageId }
    : { messageId: MessageId, sequenceNumber: SequenceNumber };
}
