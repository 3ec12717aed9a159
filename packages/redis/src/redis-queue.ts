/**
 * A queue as those who operate it see it: how it stands, and what to do about its dead letters. Takes no part in it: looking
 * at a queue creates nothing, also where there is none. Where Redis is away it says so at once, rather than wait for it.
 */
import { BatchwiseError, type Clock, realClock } from 'batchwise';
import type { ConnectionOptions } from './connection/connection-options.js';
import { queueFrom } from './connection/environment.js';
import {
  type Argument,
  LinkLostError,
  lossText,
  openLink,
  type RedisLink,
  type Reply,
} from './connection/link.js';
import { loadScript, type Script } from './connection/script.js';
import { type DeadLetter, lettersFrom } from './dead-letter.js';
import { GROUP, type QueueKeys, queueKeys } from './queue-keys.js';
import { type QueueStatus, statusFrom } from './queue-status.js';
import { connectionOf } from './redis-options.js';
import { invalidOption, validCount, validKeys } from './valid-option.js';

export interface RedisQueueOptions extends ConnectionOptions {
  /** @default REDIS__STREAM_KEY_REQUEST of the environment, else 'request' */
  readonly queue?: string | undefined;
  /** @default the real one */
  readonly clock?: Clock | undefined;
}

export interface DeadLettersOptions {
  /**
   * Maximum number of letters, oldest first.
   * @default 100
   */
  readonly count?: number | undefined;
  /** Continue after the letter with this id. */
  readonly after?: string | undefined;
}

/** Result of retrying or dropping dead letters. */
export interface LettersOutcome {
  readonly count: number;
  /** Ids without a dead letter. */
  readonly missing: readonly string[];
}

const OPTIONS = ['url', 'username', 'password', 'database', 'tls', 'replyTimeoutMs', 'queue', 'clock'];
/** How many letters one script handles: Redis does nothing else meanwhile. */
const CHUNK = 200;

const status = loadScript('status');
const letters = loadScript('letters');
const retry = loadScript('retry');
const drop = loadScript('drop');

export class RedisQueue {
  readonly #keys: QueueKeys;
  readonly #link: RedisLink;
  /** Those who wait for Redis, to be told when it is gone. */
  readonly #waiting = new Set<AbortController>();
  #gone: BatchwiseError | undefined = undefined;

  constructor(options: RedisQueueOptions) {
    validKeys('new RedisQueue(options)', options, OPTIONS);
    const { clock = realClock } = options;
    const queue = queueFrom(options.queue, process.env);
    this.#keys = queueKeys(queue);
    const name = `${queue} operates`;
    this.#link = openLink({
      ...connectionOf(options),
      replies: 'bytes',
      name,
      key: this.#keys.processors,
      clock,
    });
    this.#link.onUp(() => {
      this.#gone = undefined;
    });
    this.#link.onDown((error) => {
      this.#gone = goneError(error);
      for (const controller of this.#waiting) controller.abort(this.#gone);
    });
  }

  /** Current state of the queue. */
  async status(): Promise<QueueStatus> {
    const { requests, dead, totals, processors, rate } = this.#keys;
    const reply = await this.#run(status, [...requests, dead, totals, processors, rate], [GROUP]);
    return statusFrom(this.#keys.queue, reply);
  }

  /** Dead letters: items with too many deliveries without a result. Oldest first. */
  async deadLetters(options: DeadLettersOptions = {}): Promise<DeadLetter[]> {
    const where = 'deadLetters(options)';
    validKeys(where, options, ['count', 'after']);
    const { count = 100, after } = options;
    validCount(`${where}: count`, count);
    if (after !== undefined) checkId(`${where}: after`, after);
    const { dead } = this.#keys;
    const command = ['XRANGE', dead, after === undefined ? '-' : `(${after}`, '+'];
    if (count !== Number.POSITIVE_INFINITY) command.push('COUNT', String(count));
    return lettersFrom(await this.#whileUp((signal) => until(signal, this.#link.send(dead, command))));
  }

  /**
   * Puts dead letters back at the end of the queue, all current ones or those with these ids, with a new delivery count
   * and without a deadline. Their callers have already received an error and get no result. The queue may exceed
   * `maxBacklog` of the clients.
   */
  retry(which: readonly string[] | 'all'): Promise<LettersOutcome> {
    return this.#handle('retry', which, retry, [...this.#keys.requests, this.#keys.dead]);
  }

  /** Deletes dead letters: all current ones, or those with these ids. */
  drop(which: readonly string[] | 'all'): Promise<LettersOutcome> {
    return this.#handle('drop', which, drop, [this.#keys.dead]);
  }

  async close(): Promise<void> {
    this.#link.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #handle(
    name: string,
    which: readonly string[] | 'all',
    script: Script,
    keys: readonly string[],
  ): Promise<LettersOutcome> {
    let count = 0;
    const missing: string[] = [];
    for await (const ids of which === 'all' ? this.#all() : chunksOf(name, which)) {
      const done = await this.#run(script, keys, ids);
      ids.forEach((id, i) => {
        if (Number(done[i]) === 1) count += 1;
        else missing.push(id);
      });
    }
    // Of all that are there, those that somebody else has seen to meanwhile are not missed.
    return { count, missing: which === 'all' ? [] : missing };
  }

  /** Those that are there when it begins: what dies again meanwhile is not retried for ever. */
  async *#all(): AsyncGenerator<string[]> {
    let from = '';
    let last = '';
    for (;;) {
      const [end, ...found] = await this.#run(letters, [this.#keys.dead], [from, last, String(CHUNK)]);
      if (found.length === 0) return;
      const ids = found.map(String);
      yield ids;
      last = String(end);
      from = ids.at(-1) as string;
    }
  }

  async #run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<readonly Reply[]> {
    return (await this.#whileUp((signal) => this.#link.run(script, keys, args, { signal }))) as Reply[];
  }

  async #whileUp(ask: (signal: AbortSignal) => Promise<Reply>): Promise<Reply> {
    if (this.#gone !== undefined) throw this.#gone;
    const controller = new AbortController();
    this.#waiting.add(controller);
    try {
      return await ask(controller.signal);
    } catch (error) {
      throw error instanceof LinkLostError ? goneError(error) : error;
    } finally {
      this.#waiting.delete(controller);
    }
  }
}

/** Of a command that changes nothing: nobody minds when it is carried out for nobody. */
function until(signal: AbortSignal, reply: Promise<Reply>): Promise<Reply> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    reply.then(resolve, reject);
  });
}

function* chunksOf(name: string, ids: readonly string[]): Generator<readonly string[]> {
  if (!Array.isArray(ids)) throw invalidOption(`${name}(which): expected 'all' or an array of ids.`);
  for (const id of ids) checkId(`${name}(ids)`, id);
  const once = [...new Set<string>(ids)];
  for (let first = 0; first < once.length; first += CHUNK) yield once.slice(first, first + CHUNK);
}

function checkId(where: string, id: unknown): void {
  if (typeof id === 'string' && /^\d{1,20}-\d{1,20}$/.test(id)) return;
  const came = JSON.stringify(id) ?? typeof id;
  throw invalidOption(`${where}: expected the id of a dead letter, such as 1712345678901-0, got ${came}.`);
}

function goneError(cause: Error): BatchwiseError {
  if (cause instanceof BatchwiseError) return cause;
  return new BatchwiseError('UNAVAILABLE', lossText(cause), { cause });
}
