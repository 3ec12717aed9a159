/** Checks a message before kafkajs encodes it: an error there would fail the whole batch. */
import type { IHeaders, Message } from 'kafkajs';
import { track } from './track-partitions.js';

export interface OutgoingRecord {
  readonly topic: string;
  readonly message: Message;
  /** At most this many bytes in a record batch. */
  readonly bytes: number;
}

/** Of a record batch (Kafka protocol, record batch format v2). */
export const BATCH_OVERHEAD_BYTES = 61;
/** Length, attributes, timestamp, offset, lengths of key and value, number of headers: at their longest. */
const RECORD_OVERHEAD_BYTES = 36;
/** Lengths of name and value, at their longest. */
const HEADER_OVERHEAD_BYTES = 10;

/** Throws a TypeError for what Kafka or kafkajs cannot take. */
export function outgoingRecord(item: Message, topic: string | undefined): OutgoingRecord {
  if (typeof topic !== 'string' || topic === '') {
    throw new TypeError(`topic: expected a name in the message or in the options, got ${String(topic)}.`);
  }
  const { key, value, headers = {}, partition, timestamp } = item;
  if (partition !== undefined && !(Number.isInteger(partition) && partition >= 0)) {
    throw new TypeError(`partition: expected a whole number from 0 up, got ${String(partition)}.`);
  }
  if (timestamp !== undefined && !/^\d+$/.test(timestamp)) {
    throw new TypeError(`timestamp: expected milliseconds as text, got ${timestamp}.`);
  }
  const bytes =
    RECORD_OVERHEAD_BYTES +
    (key === undefined || key === null ? 0 : bytesOf('key', key)) +
    (value === null ? 0 : bytesOf('value', value)) +
    headerBytes(headers);
  const message: Message = {
    value,
    headers,
    ...(key === undefined ? {} : { key }),
    ...(partition === undefined ? {} : { partition }),
    ...(timestamp === undefined ? {} : { timestamp }),
  };
  return { topic, message: track(message), bytes };
}

function headerBytes(headers: IHeaders): number {
  let bytes = 0;
  for (const [name, values] of Object.entries(headers)) {
    for (const value of Array.isArray(values) ? values : [values]) {
      bytes += HEADER_OVERHEAD_BYTES + Buffer.byteLength(name) + bytesOf(`headers.${name}`, value);
    }
  }
  return bytes;
}

/** kafkajs would send the text of anything else: `1,2,3` for a Uint8Array. */
function bytesOf(what: string, value: unknown): number {
  if (typeof value === 'string' || Buffer.isBuffer(value)) return Buffer.byteLength(value);
  throw new TypeError(
    `${what}: expected a string or a Buffer, got ${value === null ? 'null' : typeof value}.`,
  );
}
