/**
 * What the author of a function is asked of each item: what it costs, with which others it may go. When the
 * answer is an exception or makes no sense, that is the author's fault and not the caller's.
 */
import { BatchwiseError } from 'batchwise';

export interface ItemAnswers {
  readonly cost: number;
  readonly group: unknown;
  /** Items with the same are worked on once. */
  readonly key: unknown;
}

export interface ItemQuestionsOptions<I> {
  readonly costOf?: ((item: I) => number) | undefined;
  readonly groupOf?: ((item: I) => unknown) | undefined;
  readonly dedupeBy?: ((item: I) => unknown) | undefined;
  readonly onFault?: ((error: Error) => void) | undefined;
}

const NOTHING_ASKED: ItemAnswers = { cost: 1, group: undefined, key: undefined };

export class ItemQuestions<I> {
  readonly #name: string;
  readonly #options: ItemQuestionsOptions<I>;
  readonly #asksNothing: boolean;

  constructor(name: string, options: ItemQuestionsOptions<I>) {
    const { costOf, groupOf, dedupeBy } = options;
    this.#name = name;
    this.#options = options;
    this.#asksNothing = costOf === undefined && groupOf === undefined && dedupeBy === undefined;
  }

  get asksCost(): boolean {
    return this.#options.costOf !== undefined;
  }

  /** Throws `HANDLER_FAILED`, or the error of this project that was thrown on purpose. */
  ask(item: I): ItemAnswers {
    if (this.#asksNothing) return NOTHING_ASKED;
    const { costOf, groupOf, dedupeBy } = this.#options;
    const cost = costOf === undefined ? 1 : this.#answer('costOf', costOf, item);
    if (typeof cost !== 'number' || !(cost > 0) || cost === Number.POSITIVE_INFINITY) {
      const came = typeof cost === 'number' ? cost : typeof cost;
      throw this.#fault(`costOf(item): expected a number above 0, got ${came}.`, undefined);
    }
    return {
      cost,
      group: groupOf && this.#answer('groupOf', groupOf, item),
      key: dedupeBy && this.#answer('dedupeBy', dedupeBy, item),
    };
  }

  #answer<A>(name: string, question: (item: I) => A, item: I): A {
    try {
      return question(item);
    } catch (thrown) {
      if (thrown instanceof BatchwiseError) throw thrown;
      const text = thrown instanceof Error ? thrown.message : String(thrown);
      throw this.#fault(`${name}(item) threw: ${text}`, thrown);
    }
  }

  #fault(message: string, cause: unknown): BatchwiseError {
    const options = cause === undefined ? {} : { cause };
    const error = new BatchwiseError('HANDLER_FAILED', `${this.#name}: ${message}`, options);
    this.#options.onFault?.(error);
    return error;
  }
}
