/**
 * Writes answers: all of one turn of the event loop in one step, one entry for each client. The step is fenced: if one of
 * the items is held by another delivery by now, nothing is written, and it is tried again without that one.
 */
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

  constructor(owner: AnswerOwner<I>) {
    this.#owner = owner;
  }

  add(delivery: Delivery<I>, result: unknown, error?: Error): void {
    this.#waiting.push({ delivery, answer: this.#encoded(delivery, result, error) });
    if (this.#isDue) return;
    this.#isDue = true;
    this.#owner.clock.defer(() => {
      this.#isDue = false;
      void this.#flush();
    });
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
      const message = `The result cannot travel as ${this.#owner.codec.kind}: ${reason}`;
      return { number, payload: undefined, error: errorToData(new BatchwiseError('BAD_RESULT', message)) };
    }
  }

  async #flush(): Promise<void> {
    let answers = this.#waiting;
    this.#waiting = [];
    this.#writing += 1;
    try {
      while (answers.length > 0) {
        const lost = await this.#write(answers);
        for (const { delivery } of answers) if (lost.has(delivery)) this.#owner.fenced(delivery);
        if (lost.size === 0) break;
        answers = answers.filter(({ delivery }) => !lost.has(delivery));
      }
    } finally {
      this.#writing -= 1;
      this.#tellIfEmpty();
    }
  }

  /** Returns those that are no longer held; nothing was written if there are any. */
  async #write(answers: readonly Answered<I>[]): Promise<ReadonlySet<Delivery<I>>> {
    const { keys, link, consumer, held } = this.#owner;
    const clients = byClient(answers);
    const clientKeys = [...clients.keys()].flatMap((id) => [keys.clients + id, keys.replies + id]);
    const payloads = [...clients].map(([id, own]) => packed(id, own));
    const deliveries = answers.map(({ delivery }) => delivery);
    const args: Argument[] = [
      ...[GROUP, consumer, ALL_HELD],
      ...payloads,
      ...byLevel(deliveries, tellDelivery),
    ];
    for (;;) {
      try {
        const reply = (await link.run(
          answer,
          [...keys.requests, ...clientKeys],
          args,
        )) as readonly Argument[];
        const lost = new Set(reply.map(String));
        if (lost.size === 0) for (const delivery of deliveries) held.remove(delivery);
        return new Set(deliveries.filter(({ key }) => lost.has(key)));
      } catch (error) {
        if (error instanceof LinkClosedError) return new Set();
        // The queue was deleted, and these items with it.
        if (error instanceof ReplyError && error.code === 'NOGROUP') return new Set(deliveries);
        this.#owner.notTaken(error);
        await new Promise<void>((resolve) => {
          this.#owner.clock.setTimer(resolve, AGAIN_AFTER_MS);
        });
      }
    }
  }

  #tellIfEmpty(): void {
    if (this.#waiting.length > 0 || this.#writing > 0) return;
    const told = this.#whenEmpty;
    this.#whenEmpty = [];
    for (const tell of told) tell();
  }
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
