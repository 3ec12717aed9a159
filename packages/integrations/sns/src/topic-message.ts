/** A message to be published, and the fields of its entry in a PublishBatch request that only SNS has. */
import type { MessageAttributeValue } from '@aws-sdk/client-sns';
import { invalidItem, type Message } from '@batchwise/aws';

export interface TopicMessage extends Message<MessageAttributeValue> {
  readonly message: string;
  /** Subject line for email subscribers, up to 100 characters. */
  readonly subject?: string | undefined;
  /** `'json'`: the message is a JSON object with one text for each protocol, and `default`. */
  readonly structure?: 'json' | undefined;
}

const MAX_SUBJECT_LENGTH = 100;

export function fieldsOf({ message, subject, structure }: TopicMessage) {
  if (subject !== undefined && !(subject.length >= 1 && subject.length <= MAX_SUBJECT_LENGTH)) {
    throw invalidItem(`subject: expected 1 to ${MAX_SUBJECT_LENGTH} characters, got ${subject.length}.`);
  }
  if (structure !== undefined) checkJson(message, structure);
  return { Message: message, Subject: subject, MessageStructure: structure };
}

function checkJson(message: string, structure: string): void {
  if (structure !== 'json')
    throw invalidItem(`structure: expected 'json', got ${JSON.stringify(structure)}.`);
  let byProtocol: { readonly default?: unknown } | null = null;
  try {
    byProtocol = JSON.parse(message);
  } catch {
    // Not JSON: as invalid as an object without a default.
  }
  if (typeof byProtocol?.default === 'string') return;
  throw invalidItem(`message: with structure 'json', expected a JSON object with a text as 'default'.`);
}
