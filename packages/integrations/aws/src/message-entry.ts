/** A message of SQS or SNS: the checks, the size and the fields of its entry that are the same in both. */
import { invalidItem } from './invalid-input.js';

/** The driver's MessageAttributeValue. */
export interface Attribute {
  readonly DataType: string | undefined;
  readonly StringValue?: string | undefined;
  readonly BinaryValue?: Uint8Array | undefined;
}

export interface Message<A extends Attribute> {
  readonly attributes?: Readonly<Record<string, A>> | undefined;
  /** Required for FIFO queues and topics: messages of one group are delivered in order. */
  readonly groupId?: string | undefined;
  /** FIFO queues and topics only: the service drops a message whose id it has seen in the last five minutes. */
  readonly deduplicationId?: string | undefined;
}

export interface MessageEntry<A extends Attribute> {
  readonly Id: string;
  readonly MessageAttributes: Record<string, A> | undefined;
  readonly MessageGroupId: string | undefined;
  readonly MessageDeduplicationId: string | undefined;
}

/** A message that the service has stored. */
export interface AcceptedMessage {
  readonly messageId: string;
  /** FIFO queues and topics only. */
  readonly sequenceNumber?: string;
}

const VALID_ID = /^[!-~]{1,128}$/;

/** How messages become entries. `Fields` are those of an entry that only this service has. */
export interface MessageFormat<M extends Message<A>, Fields, A extends Attribute> {
  readonly target: 'queue' | 'topic';
  readonly isFifo: boolean;
  readonly maxAttributes: number;
  /** The property that holds the text of a message, for error messages. */
  readonly textName: string;
  textOf(message: M): string;
  /** Throws `INVALID_ITEM` if the service would not take them. */
  fieldsOf(message: M, isFifo: boolean): Fields;
}

/** What counts towards the limit: the text, and name, type and value of each attribute. */
export function bytesOf(text: string, attributes: Readonly<Record<string, Attribute>> = {}): number {
  let bytes = Buffer.byteLength(text);
  for (const [name, { DataType = '', StringValue = '', BinaryValue }] of Object.entries(attributes)) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(DataType) + Buffer.byteLength(StringValue);
    bytes += BinaryValue?.byteLength ?? 0;
  }
  return bytes;
}

/** Throws `INVALID_ITEM` if the service would not take the message. */
export function entryOf<M extends Message<A>, Fields, A extends Attribute>(
  message: M,
  id: string,
  { target, isFifo, maxAttributes, textName, textOf, fieldsOf }: MessageFormat<M, Fields, A>,
  maxBytes: number,
): Fields & MessageEntry<A> {
  const text = textOf(message);
  if (typeof text !== 'string' || text === '') {
    const came = text === '' ? "''" : typeof text;
    throw invalidItem(`${textName}: expected a string that is not empty, got ${came}.`);
  }
  const fields = fieldsOf(message, isFifo);
  const { attributes, groupId, deduplicationId } = message;
  checkId('groupId', groupId);
  checkId('deduplicationId', deduplicationId);
  if (isFifo && groupId === undefined) throw invalidItem(`groupId: required by a FIFO ${target}.`);
  if (!isFifo && deduplicationId !== undefined) {
    throw invalidItem(`deduplicationId: only for FIFO ${target}s.`);
  }
  if (attributes !== undefined) checkAttributes(attributes, maxAttributes);
  const bytes = bytesOf(text, attributes);
  if (bytes > maxBytes) {
    throw invalidItem(`the message has ${bytes} bytes with its attributes; maxBatchBytes is ${maxBytes}.`);
  }
  return {
    ...fields,
    Id: id,
    MessageAttributes: attributes && { ...attributes },
    MessageGroupId: groupId,
    MessageDeduplicationId: deduplicationId,
  };
}

function checkId(name: string, id: string | undefined): void {
  if (id === undefined || (typeof id === 'string' && VALID_ID.test(id))) return;
  throw invalidItem(
    `${name}: expected 1 to 128 letters, digits or punctuation marks, got ${JSON.stringify(id)}.`,
  );
}

function checkAttributes(attributes: Readonly<Record<string, Attribute>>, most: number): void {
  const entries = Object.entries(attributes);
  if (entries.length > most) {
    throw invalidItem(`attributes: expected at most ${most}, got ${entries.length}.`);
  }
  for (const [name, value] of entries) {
    const { DataType, StringValue, BinaryValue } = value ?? {};
    const hasValue = typeof StringValue === 'string' ? StringValue !== '' : BinaryValue instanceof Uint8Array;
    if (typeof DataType === 'string' && hasValue) continue;
    throw invalidItem(`attributes.${name}: expected { DataType, StringValue } or { DataType, BinaryValue }.`);
  }
}
