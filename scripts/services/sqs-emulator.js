/**
 * Amazon SQS for tests and benchmarks: its JSON protocol (AwsJson1_0) on 127.0.0.1, in this process and in memory. It
 * keeps to the documented limits and to the order of FIFO queues, and fails on demand.
 */
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

/** The most messages in a batch request. */
const MAX_ENTRIES = 10;
const MAX_BATCH_BYTES = 1024 * 1024;

/**
 * A request, or an entry of a batch request, with the fields that the emulator reads.
 *
 * @typedef {object} Input
 * @property {string} QueueUrl
 * @property {string} Id
 * @property {Input[]} Entries
 * @property {string} MessageBody
 * @property {Record<string, AttributeValue>} [MessageAttributes]
 * @property {string} [MessageGroupId]
 * @property {string} [MessageDeduplicationId]
 * @property {string} ReceiptHandle
 * @property {number} [MaxNumberOfMessages]
 * @property {number} [VisibilityTimeout]
 * @property {number} [WaitTimeSeconds]
 */

/** @typedef {{ DataType: string, StringValue?: string, BinaryValue?: string }} AttributeValue */
/** @typedef {Record<string, unknown>} Output */

/**
 * @typedef {object} EmulatorClock
 * @property {() => number} now
 * @property {(callback: () => void, delayMs: number) => unknown} setTimer
 * @property {(timer: unknown) => void} clearTimer
 */

/**
 * @typedef {object} StoredMessage
 * @property {string} id
 * @property {string} body
 * @property {string | undefined} groupId
 * @property {Record<string, AttributeValue>} attributes
 * @property {number} sequence
 * @property {number} visibleAt
 * @property {number} receiveCount
 * @property {string | undefined} receipt Of the last time that it was received.
 */

/** @typedef {{ status: number, type: string, message: string }} ServiceError */
/** @typedef {{ Code: string, Message: string, SenderFault: boolean }} EntryError */
/** @typedef {{ action: string, input: Input }} SeenRequest */

/** @type {EmulatorClock} */
const systemClock = {
  now: () => performance.now(),
  setTimer: (callback, delayMs) => setTimeout(callback, delayMs),
  clearTimer: (timer) => clearTimeout(/** @type {NodeJS.Timeout} */ (timer)),
};

/** @param {{ clock?: EmulatorClock }} [options] */
export async function startSqsEmulator({ clock = systemClock } = {}) {
  const emulator = new SqsEmulator(clock);
  await emulator.listen();
  return emulator;
}

export class SqsEmulator {
  /** Every request so far. @type {SeenRequest[]} */
  requests = [];
  /**
   * Answers a request instead of the queue: with an error, or by cutting the connection.
   *
   * @type {(request: SeenRequest) => ServiceError | 'cut' | undefined | Promise<ServiceError | 'cut' | undefined>}
   */
  intercept = () => undefined;
  /** Fails one entry of a batch request. @type {(action: string, entry: Input) => EntryError | undefined} */
  failEntry = () => undefined;

  #port = 0;
  #clock;
  /** @type {Map<string, Queue>} */
  #queues = new Map();
  /** @type {Set<() => void>} */
  #waiting = new Set();
  #server = createServer((request, response) => void this.#serve(request, response));

  /** @param {EmulatorClock} clock */
  constructor(clock) {
    this.#clock = clock;
  }

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
   * Creates a queue, a FIFO queue if its name ends in `.fifo`.
   *
   * @param {string} name
   */
  createQueue(name) {
    const queueUrl = `http://127.0.0.1:${this.#port}/000000000000/${name}`;
    const queue = new Queue(queueUrl, this.#clock);
    this.#queues.set(queueUrl, queue);
    return queue;
  }

  /** The requests of one kind. @param {string} action */
  inputs(action) {
    return this.requests.filter((request) => request.action === action).map(({ input }) => input);
  }

  /** From now on, requests for messages do not wait for any: a consumer that is being closed need not wait, either. */
  endLongPolls() {
    for (const queue of this.#queues.values()) {
      queue.allowsLongPolls = false;
      queue.endPolls();
    }
  }

  /** Resolves once the condition holds; looked at after each request and each answer. @param {() => boolean} condition */
  async until(condition) {
    while (!condition()) await new Promise((resolve) => this.#waiting.add(() => resolve(undefined)));
  }

  async close() {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    this.endLongPolls();
    await closed;
  }

  #changed() {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const look of waiting) look();
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  async #serve(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const action = String(request.headers['x-amz-target']).split('.')[1] ?? '';
    const seen = { action, input: JSON.parse(Buffer.concat(chunks).toString()) };
    this.requests.push(seen);
    this.#changed();
    const scripted = await this.intercept(seen);
    if (scripted === 'cut') {
      request.socket.destroy();
      return;
    }
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const answer = scripted ?? (await this.#answer(seen, gone.signal));
    if (isServiceError(answer)) {
      response.writeHead(answer.status, { 'x-amzn-query-error': `${answer.type};Sender` });
      response.end(JSON.stringify({ __type: `com.amazonaws.sqs#${answer.type}`, message: answer.message }));
    } else {
      response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' });
      response.end(JSON.stringify(answer));
    }
    this.#changed();
  }

  /**
   * @param {SeenRequest} request
   * @param {AbortSignal} gone
   * @returns {Promise<Output | ServiceError>}
   */
  async #answer({ action, input }, gone) {
    const queue = this.#queues.get(input.QueueUrl);
    if (queue === undefined) return refused('QueueDoesNotExist', 'The specified queue does not exist.');
    if (action === 'SendMessage') return queue.send(input);
    if (action === 'ReceiveMessage') return queue.receive(input, gone);
    const problem = batchProblem(action, input.Entries);
    if (problem !== undefined) return problem;
    switch (action) {
      case 'SendMessageBatch':
        return this.#each(action, input, (entry) => queue.send(entry));
      case 'DeleteMessageBatch':
        return this.#each(action, input, (entry) => queue.delete(entry.ReceiptHandle));
      case 'ChangeMessageVisibilityBatch':
        return this.#each(action, input, (entry) =>
          queue.show(entry.ReceiptHandle, entry.VisibilityTimeout ?? 0),
        );
      default:
        return refused('InvalidAction', `The emulator does not know ${action}.`);
    }
  }

  /**
   * @param {string} action
   * @param {Input} input
   * @param {(entry: Input) => Output | EntryError} act
   */
  #each(action, { Entries }, act) {
    /** @type {Output[]} */
    const Successful = [];
    /** @type {Output[]} */
    const Failed = [];
    for (const entry of Entries) {
      const result = this.failEntry(action, entry) ?? act(entry);
      if ('Code' in result) Failed.push({ Id: entry.Id, ...result });
      else Successful.push({ Id: entry.Id, ...result });
    }
    return { Successful, ...(Failed.length > 0 ? { Failed } : {}) };
  }
}

export class Queue {
  /** In the order in which they were sent; a deleted message is not among them. @type {StoredMessage[]} */
  messages = [];
  /** @type {string} */
  url;
  allowsLongPolls = true;
  #clock;
  #sequence = 0;
  /** @type {Map<string | undefined, Output>} */
  #sentByDeduplicationId = new Map();
  /** @type {Set<() => void>} */
  #polls = new Set();

  /**
   * @param {string} url
   * @param {EmulatorClock} clock
   */
  constructor(url, clock) {
    this.url = url;
    this.#clock = clock;
  }

  get isFifo() {
    return this.url.endsWith('.fifo');
  }

  get bodies() {
    return this.messages.map(({ body }) => body);
  }

  /** Messages that were received and are neither deleted nor visible again. */
  get inFlight() {
    return this.messages.filter(({ visibleAt }) => visibleAt > this.#clock.now());
  }

  /**
   * @param {Input} message
   * @returns {Output | EntryError}
   */
  send({ MessageBody, MessageGroupId, MessageDeduplicationId, MessageAttributes = {} }) {
    if (this.isFifo && MessageGroupId === undefined) {
      return entryError('MissingParameter', 'The request must contain the parameter MessageGroupId.');
    }
    const earlier = this.#sentByDeduplicationId.get(MessageDeduplicationId);
    if (earlier !== undefined) return { ...earlier, MD5OfMessageBody: md5(MessageBody) };
    const sequence = ++this.#sequence;
    const id = randomUUID();
    this.messages.push({
      id,
      body: MessageBody,
      groupId: MessageGroupId,
      attributes: MessageAttributes,
      sequence,
      visibleAt: Number.NEGATIVE_INFINITY,
      receiveCount: 0,
      receipt: undefined,
    });
    const result = {
      MessageId: id,
      MD5OfMessageBody: md5(MessageBody),
      ...(this.isFifo ? { SequenceNumber: String(sequence).padStart(20, '0') } : {}),
    };
    if (MessageDeduplicationId !== undefined) this.#sentByDeduplicationId.set(MessageDeduplicationId, result);
    this.endPolls();
    return result;
  }

  /**
   * @param {Input} input
   * @param {AbortSignal} gone Fires when the client has gone.
   * @returns {Promise<Output>}
   */
  async receive({ MaxNumberOfMessages = 1, VisibilityTimeout = 30, WaitTimeSeconds = 0 }, gone) {
    let found = this.#take(MaxNumberOfMessages, 1000 * VisibilityTimeout);
    if (found.length === 0 && WaitTimeSeconds > 0 && this.allowsLongPolls) {
      await this.#arrival(1000 * WaitTimeSeconds, gone);
      if (gone.aborted) return {};
      found = this.#take(MaxNumberOfMessages, 1000 * VisibilityTimeout);
    }
    return found.length === 0 ? {} : { Messages: found.map((message) => this.#asReceived(message)) };
  }

  /**
   * @param {string} receipt
   * @returns {Output | EntryError}
   */
  delete(receipt) {
    const index = this.messages.findIndex((message) => message.receipt === receipt);
    if (index >= 0) this.messages.splice(index, 1);
    return {};
  }

  /**
   * @param {string} receipt
   * @param {number} afterSeconds
   * @returns {Output | EntryError}
   */
  show(receipt, afterSeconds) {
    const message = this.messages.find((each) => each.receipt === receipt);
    if (message === undefined || message.visibleAt <= this.#clock.now()) {
      return entryError('MessageNotInflight', 'The message is not in flight.');
    }
    message.visibleAt = this.#clock.now() + 1000 * afterSeconds;
    if (afterSeconds === 0) this.endPolls();
    return {};
  }

  /** Lets all waiting polls look again, and answer. */
  endPolls() {
    for (const end of [...this.#polls]) end();
  }

  /**
   * @param {number} count
   * @param {number} visibilityMs
   */
  #take(count, visibilityMs) {
    const now = this.#clock.now();
    // A FIFO queue gives out no message of a group while an earlier one is in flight.
    const blocked = new Set(this.isFifo ? this.inFlight.map(({ groupId }) => groupId) : []);
    const found = this.messages
      .filter(({ visibleAt, groupId }) => visibleAt <= now && !(this.isFifo && blocked.has(groupId)))
      .slice(0, count);
    for (const message of found) {
      message.visibleAt = now + visibilityMs;
      message.receiveCount += 1;
      message.receipt = randomUUID();
    }
    return found;
  }

  /** @param {StoredMessage} message */
  #asReceived({ id, body, receipt, receiveCount, groupId, attributes, sequence }) {
    return {
      MessageId: id,
      ReceiptHandle: receipt,
      Body: body,
      MD5OfBody: md5(body),
      MessageAttributes: attributes,
      Attributes: {
        ApproximateReceiveCount: String(receiveCount),
        ...(groupId === undefined ? {} : { MessageGroupId: groupId, SequenceNumber: String(sequence) }),
      },
    };
  }

  /**
   * @param {number} withinMs
   * @param {AbortSignal} gone
   */
  #arrival(withinMs, gone) {
    return new Promise((resolve) => {
      const end = () => {
        this.#clock.clearTimer(timer);
        this.#polls.delete(end);
        resolve(undefined);
      };
      const timer = this.#clock.setTimer(end, withinMs);
      this.#polls.add(end);
      gone.addEventListener('abort', end);
    });
  }
}

/**
 * @param {string} action
 * @param {Input[]} entries
 */
function batchProblem(action, entries) {
  const ids = new Set(entries.map(({ Id }) => Id));
  if (entries.length === 0) return refused('EmptyBatchRequest', 'There are no entries.');
  if (entries.length > MAX_ENTRIES) {
    return refused('TooManyEntriesInBatchRequest', `At most ${MAX_ENTRIES} entries, got ${entries.length}.`);
  }
  if (ids.size < entries.length) return refused('BatchEntryIdsNotDistinct', 'Two entries have the same Id.');
  const bytes = action === 'SendMessageBatch' ? entries.reduce((sum, entry) => sum + bytesOf(entry), 0) : 0;
  if (bytes <= MAX_BATCH_BYTES) return undefined;
  return refused('BatchRequestTooLong', `At most ${MAX_BATCH_BYTES} bytes, got ${bytes}.`);
}

/** @param {Input} entry */
function bytesOf({ MessageBody, MessageAttributes = {} }) {
  let bytes = Buffer.byteLength(MessageBody);
  for (const [name, { DataType, StringValue = '', BinaryValue = '' }] of Object.entries(MessageAttributes)) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(DataType) + Buffer.byteLength(StringValue);
    bytes += Buffer.from(BinaryValue, 'base64').length;
  }
  return bytes;
}

/**
 * @param {string} type
 * @param {string} message
 * @returns {ServiceError}
 */
function refused(type, message) {
  return { status: 400, type, message };
}

/**
 * @param {string} Code
 * @param {string} Message
 * @returns {EntryError}
 */
function entryError(Code, Message) {
  return { Code, Message, SenderFault: true };
}

/**
 * @param {Output | ServiceError} answer
 * @returns {answer is ServiceError}
 */
function isServiceError(answer) {
  return 'status' in answer && 'type' in answer;
}

/** @param {string} text */
function md5(text) {
  return createHash('md5').update(text).digest('hex');
}
