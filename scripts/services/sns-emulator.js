/**
 * Amazon SNS for tests and benchmarks: its query protocol (form in, XML out) on 127.0.0.1, in this process and in memory.
 * It knows Publish and PublishBatch, keeps to the documented limits, and fails on demand.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

/** The most messages in a batch request. */
const MAX_ENTRIES = 10;
const MAX_BATCH_BYTES = 256 * 1024;

/**
 * @typedef {object} PublishedMessage
 * @property {string} id Of the message, as the answer says it.
 * @property {string} message
 * @property {Entry} entry
 */

/**
 * An entry of PublishBatch, or a Publish request: the form fields by their names, `MessageAttributes.entry.1.Name` say.
 *
 * @typedef {Record<string, string>} Entry
 */

/** @typedef {{ status: number, type: string, message: string }} ServiceError */
/** @typedef {{ Code: string, Message: string, SenderFault: boolean }} EntryError */
/** @typedef {{ action: string, topicArn: string, entries: Entry[] }} SeenRequest */

export async function startSnsEmulator() {
  const emulator = new SnsEmulator();
  await emulator.listen();
  return emulator;
}

export class SnsEmulator {
  /** Every request so far. @type {SeenRequest[]} */
  requests = [];
  /** By topic, in the order in which they were published. @type {Map<string, PublishedMessage[]>} */
  topics = new Map();
  /**
   * Answers a request instead of the topic: with an error, or by cutting the connection.
   *
   * @type {(request: SeenRequest) => ServiceError | 'cut' | undefined | Promise<ServiceError | 'cut' | undefined>}
   */
  intercept = () => undefined;
  /** Fails one entry of a batch request. @type {(entry: Entry) => EntryError | undefined} */
  failEntry = () => undefined;

  #port = 0;
  #sequence = 0;
  #server = createServer((request, response) => void this.#serve(request, response));

  async listen() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    if (typeof address === 'object' && address !== null) this.#port = address.port;
  }

  /** What a client needs to reach this emulator, and to look for nothing elsewhere. */
  get clientConfig() {
    return {
      endpoint: `http://127.0.0.1:${this.#port}`,
      region: 'local',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    };
  }

  /**
   * Creates a topic, a FIFO topic if its name ends in `.fifo`.
   *
   * @param {string} name
   */
  createTopic(name) {
    const topicArn = `arn:aws:sns:local:000000000000:${name}`;
    this.topics.set(topicArn, []);
    return topicArn;
  }

  /** The messages of a topic. @param {string} topicArn */
  published(topicArn) {
    return this.topics.get(topicArn) ?? [];
  }

  async close() {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  async #serve(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const seen = requestIn(new URLSearchParams(Buffer.concat(chunks).toString()));
    this.requests.push(seen);
    const scripted = await this.intercept(seen);
    if (scripted === 'cut') {
      request.socket.destroy();
      return;
    }
    const answer = scripted ?? this.#answer(seen);
    const isText = typeof answer === 'string';
    response.writeHead(isText ? 200 : answer.status, { 'content-type': 'text/xml' });
    response.end(isText ? answer : errorXml(answer));
  }

  /**
   * @param {SeenRequest} request
   * @returns {string | ServiceError}
   */
  #answer({ action, topicArn, entries }) {
    const topic = this.topics.get(topicArn);
    if (topic === undefined) return { status: 404, type: 'NotFound', message: 'Topic does not exist' };
    if (action === 'Publish') return resultXml(action, this.#publish(topic, entries[0] ?? {}, topicArn));
    if (action !== 'PublishBatch') {
      return { status: 400, type: 'InvalidAction', message: `The emulator does not know ${action}.` };
    }
    const problem = batchProblem(entries);
    if (problem !== undefined) return problem;
    const successful = [];
    const failed = [];
    for (const entry of entries) {
      const { Id = '' } = entry;
      const failure = this.failEntry(entry);
      if (failure === undefined) {
        successful.push(element('member', element('Id', Id) + this.#publish(topic, entry, topicArn)));
      } else {
        const { Code, Message, SenderFault } = failure;
        const fields = { Id, Code, Message: escaped(Message), SenderFault: String(SenderFault) };
        failed.push(element('member', fieldsXml(fields)));
      }
    }
    return resultXml(action, element('Successful', successful.join('')) + element('Failed', failed.join('')));
  }

  /**
   * @param {PublishedMessage[]} topic
   * @param {Entry} entry
   * @param {string} topicArn
   */
  #publish(topic, entry, topicArn) {
    const id = randomUUID();
    topic.push({ id, message: entry.Message ?? '', entry });
    const sequence = String(++this.#sequence).padStart(20, '0');
    const isFifo = topicArn.endsWith('.fifo');
    return element('MessageId', id) + (isFifo ? element('SequenceNumber', sequence) : '');
  }
}

/**
 * @param {URLSearchParams} form
 * @returns {SeenRequest}
 */
function requestIn(form) {
  const { Action: action = '', TopicArn: topicArn = '', ...fields } = Object.fromEntries(form);
  if (action !== 'PublishBatch') return { action, topicArn, entries: [fields] };
  /** @type {Entry[]} */
  const entries = [];
  for (const [name, value] of Object.entries(fields)) {
    const [, position = '', field = ''] =
      /^PublishBatchRequestEntries\.member\.(\d+)\.(.+)$/.exec(name) ?? [];
    if (position === '') continue;
    const index = Number(position) - 1;
    entries[index] = { ...entries[index], [field]: value };
  }
  return { action, topicArn, entries };
}

/**
 * @param {Entry[]} entries
 * @returns {ServiceError | undefined}
 */
function batchProblem(entries) {
  const refused = (/** @type {string} */ type, /** @type {string} */ message) => ({
    status: 400,
    type,
    message,
  });
  if (entries.length === 0) return refused('EmptyBatchRequest', 'There are no entries.');
  if (entries.length > MAX_ENTRIES) return refused('TooManyEntriesInBatchRequest', `Got ${entries.length}.`);
  if (new Set(entries.map(({ Id }) => Id)).size < entries.length) {
    return refused('BatchEntryIdsNotDistinct', 'Two entries have the same Id.');
  }
  const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
  if (bytes > MAX_BATCH_BYTES)
    return refused('BatchRequestTooLong', `At most ${MAX_BATCH_BYTES}, got ${bytes}.`);
  return undefined;
}

/** @param {Entry} entry */
function bytesOf(entry) {
  let bytes = 0;
  for (const [name, value] of Object.entries(entry)) {
    if (name.endsWith('BinaryValue')) bytes += Buffer.from(value, 'base64').length;
    else if (name === 'Message' || name.startsWith('MessageAttributes')) bytes += Buffer.byteLength(value);
  }
  return bytes;
}

/**
 * @param {string} action
 * @param {string} content
 */
function resultXml(action, content) {
  const metadata = element('ResponseMetadata', element('RequestId', randomUUID()));
  return element(`${action}Response`, element(`${action}Result`, content) + metadata);
}

/** @param {ServiceError} error */
function errorXml({ status, type, message }) {
  const fields = { Type: status < 500 ? 'Sender' : 'Receiver', Code: type, Message: escaped(message) };
  const content = element('Error', fieldsXml(fields)) + element('RequestId', randomUUID());
  return element('ErrorResponse', content);
}

/** @param {Record<string, string>} fields */
function fieldsXml(fields) {
  return Object.entries(fields)
    .map(([name, value]) => element(name, value))
    .join('');
}

/**
 * @param {string} name
 * @param {string} content
 */
function element(name, content) {
  return `<${name}>${content}</${name}>`;
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
