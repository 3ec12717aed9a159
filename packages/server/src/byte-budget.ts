/**
 * The memory of one process for what was received and is not answered yet, and for answers that wait to be read. Each
 * connection has a share, of HTTP and gRPC alike.
 *
 * A share may be as large as what is left of the budget: one connection gets half of it at most, two get a third each,
 * and so on. So the budget is used where few need it, and however many hold what they can, there is room for the
 * next one. (In switches: dynamic thresholds, Choudhury and Hahne 1998.)
 */
import { RequestError } from './request-error.js';

export const DEFAULT_UNANSWERED_BYTES = 256 * 1024 * 1024;
/** Errors, health: answered whatever else waits. */
const SMALL_ANSWER_BYTES = 4 * 1024;
/** Answers that one client does not read leave the rest to the requests of others. */
const PART_FOR_ANSWERS = 7 / 8;

export class ByteBudget {
  readonly max: number;
  /** By all shares. */
  used = 0;

  constructor(max: number) {
    this.max = max;
  }

  share(): ByteShare {
    return new ByteShare(this);
  }
}

export class ByteShare {
  readonly #budget: ByteBudget;
  #bytes = 0;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes so many more for a request, or says that there is no room. */
  take(bytes: number): boolean {
    const { max, used } = this.#budget;
    if (this.#bytes + bytes > max - used - bytes) return false;
    this.add(bytes);
    return true;
  }

  /**
   * The same for the answer to a request that holds `requestBytes`. Its work is done, so it may use most of the
   * budget, beyond its share; a small one always has room, and one of any size where nothing else is held.
   */
  takeAnswer(bytes: number, requestBytes: number): boolean {
    const { max, used } = this.#budget;
    const isSure = bytes <= SMALL_ANSWER_BYTES || used === requestBytes;
    if (!isSure && used + bytes > max * PART_FOR_ANSWERS) return this.take(bytes);
    this.add(bytes);
    return true;
  }

  /** Whether there is room for an answer. One always has room where nothing else is held. */
  hasRoomFor(answerBytes: number): boolean {
    const { max, used } = this.#budget;
    return answerBytes <= SMALL_ANSWER_BYTES || used === this.#bytes || used + answerBytes <= max;
  }

  /** Takes them whether or not there is room: they are there already. A negative number gives back. */
  add(bytes: number): void {
    this.#bytes += bytes;
    this.#budget.used += bytes;
  }
}

export function noRoom(budget: ByteBudget): RequestError {
  return new RequestError(
    'MEMORY_FULL',
    `The memory for unanswered requests is used up (limit ${budget.max} bytes, server.limits.unanswered_bytes).`,
  );
}
