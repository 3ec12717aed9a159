/**
 * Writes answers: those of a batch, or of one turn of the event loop, in one step, one entry for each client. The step is fenced: if one of
 * the items is held by another delivery by now, nothing is written, and it is tried again without that one.
 */
import { randomUUID } from 'node:crypto';
import { BatchwiseError, type Clock } from 'batchwise';
import type { Answer, Codec } from './codec.js';
import { codecOf } from './codec.js';
import { type Argument, LinkClosedError, type RedisLink, ReplyError } from './connection/link.js';
import type { Script } from './connection/script.js';
import { loadScript } from './connection/script.js';
import { byLevel, type Delivery, tellDelivery } from './delivery.js';
import { errorToData } from './error-data.js';
import { ALL_HELD, type HeldItems } from './held-items.js';
import { GROUP, type QueueKeys } from './queue-keys.js';

export interface AnswerOwner<I> {
  readonly keys: QueueKeys;
  readonly link: RedisLink;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly consumer: string;
  readonly held: HeldItems<I>;
  /** Another processor has taken it over: its answer counts. */
  fenced(delivery: Delivery<I>): void;
  /** Redis does not take the answers (no memory …): they are tried again. */
  notTaken(error: unknown): void;
}

const AGAIN_AFTER_MS = 1000;

const answer: Script = loadScript('answer');

/** What is written at once, about: more would keep Redis from everybody else. */
const PIECE = 4 * 1024 * 1024;
/** From this size on it may be the size that Redis does not take. */
const LARGE = 512 * 1024;
const MOST_LOST_ATTEMPTS = 4;
const TOO_LARGE = Symbol('too large');

interface Answered<I> {
  readonly delivery: Delivery<I>;
  readonly answer: Answer;
}

export class AnswerBox<I> {
  readonly #owner: AnswerOwner<I>;
  #waiting: Answered<I>[] = [];
  #isDue = false;
  #writing = 0;
  #whenEmpty: (() => void)[] = [];
  readonly #attempts = new Set<LostAttempts>();
  readonly #name = randomUUID().slice(0, 13);
  #written = 0;

  constructor(owner: AnswerOwner<I>) {
    this.#owner = owner;
    owner.link.onDown(() => {
      for (const attempts of this.#attempts) attempts.failed();
    });
  }

  add(delivery: Delivery<I>, result: unknown, error?: Error): void {
    this.#waiting.push({ delivery, answer: this.#encoded(delivery, result, error) });
    if (this.#isDue) return;
    this.#isDue = true;
    this.#owner.clock.defer(() => {
      this.#isDue = false;
      this.flush();
    });
  }

  /** Writes what it has, before this returns: for the last answer of a batch, when there is nothing more to wait for. */
  flush(): void {
    if (this.#waiting.length > 0) void this.#flush();
  }

  /** Resolves when all answers that were given are written. */
  empty(): Promise<void> {
    if (this.#waiting.length === 0 && this.#writing === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenEmpty.push(resolve);
    });
  }

  #encoded({ number }: Delivery<I>, result: unknown, error: Error | undefined): Answer {
    if (error !== undefined) return { number, payload: undefined, error: errorToData(error) };
    try {
      const payload = result === undefined ? undefined : this.#owner.codec.encode(result);
      return { number, payload, error: undefined };
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      const message = `The result cannot be encoded as ${this.#owner.codec.kind}: ${reason}`;
      return { number, payload: undefined, error: errorToData(new BatchwiseError('BAD_RESULT', message)) };
    }
  }

  async #flush(): Promise<void> {
    const answers = this.#waiting;
    this.#waiting = [];
    this.#writing += 1;
    try {
      for (let from = 0; from < answers.length; ) {
        const to = endOfPiece(answers, from);
        await this.#writeAll(answers.slice(from, to));
        from = to;
      }
    } finally {
      this.#writing -= 1;
      this.#tellIfEmpty();
    }
  }

  /** Until all of them are written that are still held. */
  async #writeAll(answers: readonly Answered<I>[]): Promise<void> {
    let left = answers;
    while (left.length > 0) {
      const lost = await this.#write(left);
      if (lost === TOO_LARGE) {
        await this.#writeApart(left);
        return;
      }
      for (const { delivery } of left) if (lost.has(delivery)) this.#owner.fenced(delivery);
      if (lost.size === 0) return;
      left = left.filter(({ delivery }) => !lost.has(delivery));
    }
  }

  /** Redis ends the connection each time that it gets these: in halves, until only the one that is too large is left. */
  async #writeApart(answers: readonly Answered<I>[]): Promise<void> {
    const [first] = answers;
    if (answers.length === 1 && first !== undefined) {
      const { number, payload } = first.answer;
      const message = `Redis rejected the result of ${payload?.length} bytes (above proto-max-bulk-len?).`;
      const error = errorToData(new BatchwiseError('BAD_RESULT', message));
      await this.#writeAll([{ delivery: first.delivery, answer: { number, payload: undefined, error } }]);
      return;
    }
    const middle = answers.length >> 1;
    await this.#writeAll(answers.slice(0, middle));
    await this.#writeAll(answers.slice(middle));
  }

  /** Returns those that are no longer held; nothing was written if there are any. */
  async #write(answers: readonly Answered<I>[]): Promise<ReadonlySet<Delivery<I>> | typeof TOO_LARGE> {
    const { keys, link, consumer, held, clock } = this.#owner;
    const deliveries = answers.map(({ delivery }) => delivery);
    const scriptKeys: string[] = [...keys.requests];
    const payloads: Argument[] = [];
    let attempts: LostAttempts | undefined;
    for (const [id, own] of byClient(answers)) {
      const payload = packed(id, own);
      scriptKeys.push(keys.clients + id, keys.replies + id);
      payloads.push(payload);
      // Only these may be what Redis does not take; the others need nobody to count.
      if (payload.length >= LARGE) attempts ??= new LostAttempts();
    }
    this.#written += 1;
    const token = `${this.#name}-${this.#written.toString(36)}`;
    const args = [GROUP, consumer, ALL_HELD, token, ...payloads, ...byLevel(deliveries, tellDelivery)];
    if (attempts !== undefined) this.#attempts.add(attempts);
    const signal = attempts?.signal;
    try {
      for (;;) {
        try {
          const reply = await link.run(answer, scriptKeys, args, { signal });
          const lost = new Set((reply as readonly Argument[]).map(String));
          if (lost.size === 0) for (const delivery of deliveries) held.remove(delivery);
          return new Set(deliveries.filter(({ key }) => lost.has(key)));
        } catch (error) {
          if (signal?.aborted) return TOO_LARGE;
          if (error instanceof LinkClosedError) return new Set();
          // The queue was deleted, and these items with it.
          if (error instanceof ReplyError && error.code === 'NOGROUP') return new Set(deliveries);
          this.#owner.notTaken(error);
          await new Promise<void>((resolve) => {
            clock.setTimer(resolve, AGAIN_AFTER_MS);
          });
        }
      }
    } finally {
      if (attempts !== undefined) this.#attempts.delete(attempts);
    }
  }

  #tellIfEmpty(): void {
    if (this.#waiting.length > 0 || this.#writing > 0) return;
    const told = this.#whenEmpty;
    this.#whenEmpty = [];
    for (const tell of told) tell();
  }
}

/** How often the connection was lost while the same large answers were being written. */
class LostAttempts {
  readonly #giveUp = new AbortController();
  #count = 0;

  get signal(): AbortSignal {
    return this.#giveUp.signal;
  }

  failed(): void {
    this.#count += 1;
    if (this.#count >= MOST_LOST_ATTEMPTS) this.#giveUp.abort();
  }
}

/** As many as make a piece; one at least. */
function endOfPiece<I>(answers: readonly Answered<I>[], from: number): number {
  let size = 0;
  let to = from;
  for (; to < answers.length && (to === from || size < PIECE); to++) {
    size += answers[to]?.answer.payload?.length ?? 0;
  }
  return to;
}

function byClient<I>(answers: readonly Answered<I>[]): ReadonlyMap<string, Answered<I>[]> {
  const clients = new Map<string, Answered<I>[]>();
  for (const answered of answers) {
    const { clientId } = answered.delivery;
    const own = clients.get(clientId);
    if (own === undefined) clients.set(clientId, [answered]);
    else own.push(answered);
  }
  return clients;
}

/** A client reads what it has said it reads, also when a processor of another kind can only tell it so. */
function packed<I>(clientId: string, answers: readonly Answered<I>[]): Argument {
  return codecOf(clientId).packAnswers(answers.map(({ answer }) => answer));
}
