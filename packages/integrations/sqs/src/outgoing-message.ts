/** A message to be sent, and the fields of its entry in a SendMessageBatch request that only SQS has. */
import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import { invalidItem, type Message } from '@batchwise/aws';

export interface OutgoingMessage extends Message<MessageAttributeValue> {
  readonly body: string;
  /** Seconds until consumers can see the message, 0 to 900. Not for FIFO queues. */
  readonly delaySeconds?: number | undefined;
}

const MAX_DELAY_SECONDS = 900;

/** What SQS does not accept in a body: everything outside of XML's characters. */
const INVALID_CHARACTER = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;

export function fieldsOf({ body, delaySeconds }: OutgoingMessage, isFifo: boolean) {
  const character = INVALID_CHARACTER.exec(body)?.[0].codePointAt(0);
  if (character !== undefined) {
    throw invalidItem(
      `body: SQS does not accept the character U+${character.toString(16).padStart(4, '0')}.`,
    );
  }
  checkDelay(delaySeconds, isFifo);
  return { MessageBody: body, DelaySeconds: delaySeconds };
}

function checkDelay(delaySeconds: number | undefined, isFifo: boolean): void {
  if (delaySeconds === undefined) return;
  if (isFifo) throw invalidItem('delaySeconds: a FIFO queue delays all messages alike; set it on the queue.');
  if (Number.isInteger(delaySeconds) && delaySeconds >= 0 && delaySeconds <= MAX_DELAY_SECONDS) return;
  throw invalidItem(
    `delaySeconds: expected a whole number from 0 to ${MAX_DELAY_SECONDS}, got ${delaySeconds}.`,
  );
}
