/**
 * Brings a client's items into the queue. One submission is on its way at a time; what comes meanwhile goes with the next.
 * That is what makes it certain: a submission whose reply was lost is sent again under its number, and is not carried out
 * twice. It is also what makes it cheap: the busier Redis is, the more go together.
 *
 * A time-out is sent as what is left of it, anew with each attempt. What an attempt takes to get to Redis counts as well: it
 * says what Redis' clock showed when it was sent.
 */
import { BatchwiseError, type Clock } from 'batchwise';
import type { Codec } from './codec.js';
import {
  type Argument,
  LinkClosedError,
  LinkLostError,
  type RedisLink,
  ReplyError,
} from './connection/link.js';
import { loadScript } from './connection/script.js';
import type { Outgoing } from './outgoing.js';
import { LEVELS, type QueueKeys } from './queue-keys.js';
import { RedisTime } from './redis-time.js';
import { idAfter } from './stream-id.js';

export interface OutboxOwner<I> {
  readonly keys: QueueKeys;
  readonly link: RedisLink;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly clientId: string;
  /** Rejects when this Redis is not to be used. */
  readonly ready: Promise<void>;
  readonly settings: {
    readonly name: string;
    readonly maxBacklog: number;
    readonly maxQueueSize: number;
    readonly clientTtlMs: number;
  };
  /** About to be sent: its answer may come before the reply to the submission. */
  expectAnswer(outgoing: Outgoing<I>): void;
  /** Those that are expected are on their way: to be called after the submission, which goes first. */
  readAnswers(): void;
  /** It will have no answer. */
  expectNoAnswer(outgoing: Outgoing<I>): void;
  /** Redis had given this client up: what was answered meanwhile is lost. */
  wasForgotten(): void;
  /** It is in the queue, and nobody waits for it. */
  cancel(outgoing: Outgoing<I>): void;
}

/** How many go together, and how many characters or bytes. */
const MOST_ITEMS = 1000;
const MOST_SIZE = 4 * 1024 * 1024;
/** What to tell a caller to wait while no processor has said how fast it is. */
const UNKNOWN_RETRY_MS = 1000;

const submit = loadScript('submit');
/** What it returns, up to the ids. */
const SUBMITTED = /^[01] \S+ \d+(?: (?:-|\d+-\d+)){3}(?: |$)/;

export class Outbox<I> {
  readonly #owner: OutboxOwner<I>;
  #waiting: Outgoing<I>[] = [];
  #isReady = false;
  #isSending = false;
  #sending: Promise<void> = Promise.resolve();
  #number = 0;
  #submissions = 0;
  #goOn = () => {};
  /** Ends the attempt that is under way; another one from then on. */
  #attempt = new AbortController();
  readonly #time = new RedisTime();
  #mayAskTime = true;

  constructor(owner: OutboxOwner<I>) {
    this.#owner = owner;
    owner.link.onUp(() => {
      this.#time.forget(owner.clock.now());
      this.#goOn();
    });
    owner.link.onDown((error) => this.#endAttempt(new LinkLostError(error.message, { cause: error })));
  }

  /** Resolves when nothing is on its way any more. */
  whenStill(): Promise<void> {
    return this.#sending;
  }

  /** Nobody waits any more for what is not on its way yet. */
  abandon(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const outgoing of waiting) outgoing.leave();
    this.#goOn();
  }

  add(items: readonly Outgoing<I>[]): void {
    const { maxQueueSize } = this.#owner.settings;
    // Those who have given up meanwhile take nobody's place.
    if (this.#waiting.length + items.length > maxQueueSize) {
      this.#waiting = this.#waiting.filter(({ isDone }) => !isDone);
    }
    for (const outgoing of items) {
      if (this.#waiting.length >= maxQueueSize) outgoing.answer(this.#noRoomHere());
      else if (this.#encode(outgoing)) this.#waiting.push(outgoing);
    }
    if (!this.#isSending) this.#sending = this.#send();
  }

  #encode(outgoing: Outgoing<I>): boolean {
    const { codec, settings } = this.#owner;
    try {
      outgoing.payload = codec.encode(outgoing.item);
      outgoing.size = outgoing.payload.length;
      return true;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      const message = `${settings.name}: the item cannot be encoded as ${codec.kind}: ${reason}`;
      outgoing.answer(new BatchwiseError('INVALID_ITEM', message, { cause }));
      return false;
    }
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    try {
      // Where nothing is to be waited for, it is written before this returns.
      if (!this.#isReady) await this.#owner.ready;
      this.#isReady = true;
      while (this.#waiting.length > 0) {
        if (!this.#owner.link.isUp) await this.#whenUp();
        const items = this.#next();
        if (items.length > 0) await this.#submit(items);
      }
    } catch (error) {
      for (const outgoing of this.#waiting.splice(0)) outgoing.answer(this.#failure(error));
    } finally {
      this.#isSending = false;
    }
  }

  /** What is handed over while Redis is away would be in doubt, though it was never sent. */
  #whenUp(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#goOn = resolve;
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }

  /** As many as go together, by level: that is the order in which they are let in. */
  #next(): Outgoing<I>[] {
    let count = 0;
    for (let size = 0; count < this.#waiting.length && count < MOST_ITEMS && size < MOST_SIZE; count++) {
      size += this.#waiting[count]?.payload.length ?? 0;
    }
    const taken = this.#waiting.slice(0, count);
    this.#waiting = count === this.#waiting.length ? [] : this.#waiting.slice(count);
    // One whose deadline has passed is about to hear so from its own batcher.
    const now = this.#owner.clock.now();
    return taken
      .filter(({ isDone, deadline }) => !isDone && deadline > now)
      .sort((a, b) => a.level - b.level);
  }

  async #submit(items: readonly Outgoing<I>[]): Promise<void> {
    const { settings, clock } = this.#owner;
    const number = ++this.#submissions;
    for (const outgoing of items) {
      outgoing.number = ++this.#number;
      this.#owner.expectAnswer(outgoing);
    }
    // Longer than this the number of the submission may be forgotten: to send it again could do it twice.
    let timer: unknown;
    try {
      const submission = this.#carryOut(number, items);
      timer = clock.setTimer(() => this.#endAttempt(this.#inDoubt()), settings.clientTtlMs / 2);
      this.#owner.readAnswers();
      this.#decided(items, await submission);
    } catch (error) {
      for (const outgoing of items) this.#owner.expectNoAnswer(outgoing);
      if (isTooLarge(error)) {
        clock.clearTimer(timer);
        await this.#submitApart(items, error);
      } else {
        for (const outgoing of items) outgoing.answer(this.#failure(error));
      }
    } finally {
      clock.clearTimer(timer);
    }
  }

  /** One of these is too large for Redis: in halves, until only that one is left. */
  async #submitApart(items: readonly Outgoing<I>[], cause: unknown): Promise<void> {
    const [first] = items;
    if (items.length === 1 && first !== undefined) {
      const { name } = this.#owner.settings;
      const message = `${name}: Redis rejected the item of ${first.size} bytes (above proto-max-bulk-len?).`;
      first.answer(new BatchwiseError('INVALID_ITEM', message, { cause }));
      return;
    }
    const middle = items.length >> 1;
    await this.#submit(items.slice(0, middle));
    await this.#submit(items.slice(middle));
  }

  /** Until it has its reply: sent again under its number when the connection breaks. */
  async #carryOut(number: number, items: readonly Outgoing<I>[]): Promise<string> {
    const { keys, link, clientId, clock } = this.#owner;
    const ownKeys = [keys.clients + clientId, keys.replies + clientId, keys.rate];
    const hasDeadline = items.some(({ deadline }) => deadline !== Number.POSITIVE_INFINITY);
    for (let isAgain = false; ; isAgain = true) {
      const { signal } = this.#attempt;
      try {
        if (isAgain && !link.isUp) await this.#whenUp(signal);
        if (hasDeadline && this.#mayAskTime && !this.#time.isKnown) await this.#learnTime();
        const sentAt = clock.now();
        const args = this.#argumentsOf(number, items, hasDeadline ? this.#time.at(sentAt) : undefined);
        const reply = String(await link.run(submit, [...keys.requests, ...ownKeys], args, { signal }));
        if (!SUBMITTED.test(reply))
          throw new Error(`expected the reply to a submission, got ${JSON.stringify(reply.slice(0, 80))}`);
        // One that was carried out before is answered with the time of then.
        if (!isAgain) this.#recordTime(Number(reply.split(' ', 3)[2]), sentAt);
        return reply;
      } catch (error) {
        if (!(error instanceof LinkLostError)) throw error;
        // What ended the attempt may not be the connection.
        if (signal.aborted && !(signal.reason instanceof LinkLostError)) throw signal.reason;
      }
    }
  }

  #argumentsOf(number: number, items: readonly Outgoing<I>[], sentAt: number | undefined): Argument[] {
    const { settings, clientId, clock } = this.#owner;
    const now = clock.now();
    const perLevel = [0, 0, 0];
    for (const { level } of items) perLevel[level - 1] = (perLevel[level - 1] as number) + 1;
    const args: Argument[] = [
      String(number),
      String(settings.clientTtlMs),
      String(settings.maxBacklog),
      sentAt === undefined ? '' : String(Math.ceil(sentAt)),
      ...perLevel.map(String),
    ];
    for (const outgoing of items) {
      args.push(`${clientId} ${outgoing.number} ${timeoutOf(outgoing, now)}`, outgoing.payload);
    }
    return args;
  }

  async #learnTime(): Promise<void> {
    const { keys, link, clock } = this.#owner;
    const sentAt = clock.now();
    try {
      const [seconds, micros] = (await link.send(keys.processors, ['TIME'])) as [string, string];
      this.#recordTime(Number(seconds) * 1000 + Math.floor(Number(micros) / 1000), sentAt);
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      this.#mayAskTime = false; // its user has no permission
    }
  }

  #recordTime(redisMs: number, sentAt: number): void {
    if (redisMs > 0) this.#time.record(redisMs, sentAt, this.#owner.clock.now());
  }

  #endAttempt(reason: Error): void {
    const attempt = this.#attempt;
    this.#attempt = new AbortController();
    attempt.abort(reason);
  }

  #decided(items: readonly Outgoing<I>[], reply: string): void {
    const [isKnown, rate, , ...rest] = reply.split(' ');
    // Before these items have ids: those that do were answered while nobody kept the answers, or are still queued.
    if (isKnown === '0') this.#owner.wasForgotten();
    const refused = new Map(
      rest.slice(LEVELS.length).map((text) => text.split(':').map(Number) as [number, number]),
    );
    const accepted = [0, 0, 0];
    let count = 0;
    const now = this.#owner.clock.now();
    items.forEach((outgoing, position) => {
      const { payload } = outgoing;
      outgoing.payload = '';
      const level = outgoing.level - 1;
      const ahead = refused.get(position);
      if (ahead === undefined) {
        outgoing.id = idAfter(rest[level] as string, accepted[level] as number);
        accepted[level] = (accepted[level] as number) + 1;
        if (outgoing.isDone) this.#owner.cancel(outgoing);
        return;
      }
      this.#owner.expectNoAnswer(outgoing);
      count += 1;
      const perSecond = Number(rate);
      if (ahead < 0 && outgoing.deadline > now) this.#sendAgain(outgoing, payload, now);
      else if (ahead < 0) outgoing.answer(this.#tooLate());
      else if (ahead > 0) outgoing.answer(this.#overloaded(outgoing, ahead, perSecond));
      else outgoing.answer(this.#full(count, perSecond));
    });
  }

  /** Redis took its deadline for passed, which it is not: a clock was put forward, or this machine was suspended. */
  #sendAgain(outgoing: Outgoing<I>, payload: Argument, now: number): void {
    this.#time.forget(now);
    outgoing.payload = payload;
    this.#waiting.push(outgoing);
  }

  #noRoomHere(): BatchwiseError {
    const { settings, link } = this.#owner;
    const why = link.isUp ? '' : '; not connected to Redis';
    return new BatchwiseError(
      'QUEUE_FULL',
      `${settings.name}: the queue of this process is full (maxQueueSize is ${settings.maxQueueSize})${why}.`,
      { retryAfterMs: UNKNOWN_RETRY_MS },
    );
  }

  #full(position: number, rate: number): BatchwiseError {
    const { name, maxBacklog } = this.#owner.settings;
    const retryAfterMs = rate > 0 ? Math.max(1, Math.ceil((position * 1000) / rate)) : UNKNOWN_RETRY_MS;
    return new BatchwiseError('QUEUE_FULL', `${name}: the backlog is full (maxBacklog is ${maxBacklog}).`, {
      retryAfterMs,
    });
  }

  #overloaded(outgoing: Outgoing<I>, ahead: number, rate: number): BatchwiseError {
    const expectedMs = Math.ceil((ahead * 1000) / rate);
    const leftMs = Math.max(0, Math.round(outgoing.deadline - this.#owner.clock.now()));
    return new BatchwiseError(
      'OVERLOADED',
      `${this.#owner.settings.name}: the predicted latency is ${expectedMs} ms, too long for the deadline (${leftMs} ms).`,
      { retryAfterMs: Math.max(1, expectedMs - leftMs) },
    );
  }

  #tooLate(): BatchwiseError {
    const { name } = this.#owner.settings;
    return new BatchwiseError(
      'DEADLINE_EXCEEDED',
      `${name}: the deadline passed before the item reached Redis.`,
    );
  }

  #inDoubt(): BatchwiseError {
    const { name } = this.#owner.settings;
    return new BatchwiseError(
      'UNAVAILABLE',
      `${name}: Redis did not reply to the submission; whether the item was accepted is unknown.`,
    );
  }

  #failure(error: unknown): BatchwiseError {
    if (error instanceof BatchwiseError) return error;
    const { name } = this.#owner.settings;
    if (error instanceof LinkClosedError)
      return new BatchwiseError('CLOSED', `${name}: the batcher is closed.`);
    const said = error instanceof ReplyError ? `Redis replied: ${error.message}` : String(error);
    return new BatchwiseError('UNAVAILABLE', `${name}: the item was not accepted. ${said}`, { cause: error });
  }
}

/** Redis has not read the command to its end. */
function isTooLarge(error: unknown): boolean {
  return error instanceof ReplyError && error.message.includes('Protocol error: invalid bulk length');
}

/**
 * How long it may take from now on, negative when its deadline has passed; 0 for as long as it likes, or longer than a script
 * can count.
 */
function timeoutOf({ deadline }: Outgoing<unknown>, now: number): number {
  const leftMs = deadline > now ? Math.ceil(deadline - now) : -1;
  return leftMs > Number.MAX_SAFE_INTEGER ? 0 : leftMs;
}
