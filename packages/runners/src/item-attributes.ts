/**
 * Evaluates `costOf`, `groupOf` and `dedupeBy` of the runner for each item. An exception or an invalid value is an error
 * of the runner, not of the caller.
 */
import { BatchwiseError } from 'batchwise';

export interface ItemAttributes {
  readonly cost: number;
  readonly group: unknown;
  /** Items with the same key share one computation. */
  readonly key: unknown;
}

export interface AttributeOptions<I> {
  readonly costOf?: ((item: I) => number) | undefined;
  readonly groupOf?: ((item: I) => unknown) | undefined;
  readonly dedupeBy?: ((item: I) => unknown) | undefined;
  readonly onFault?: ((error: Error) => void) | undefined;
}

const DEFAULTS: ItemAttributes = { cost: 1, group: undefined, key: undefined };

export class AttributeFunctions<I> {
  readonly #name: string;
  readonly #options: AttributeOptions<I>;
  readonly #hasNone: boolean;

  constructor(name: string, options: AttributeOptions<I>) {
    const { costOf, groupOf, dedupeBy } = options;
    this.#name = name;
    this.#options = options;
    this.#hasNone = costOf === undefined && groupOf === undefined && dedupeBy === undefined;
  }

  get hasCostOf(): boolean {
    return this.#options.costOf !== undefined;
  }

  /** Throws `HANDLER_FAILED`, or the `BatchwiseError` that one of the functions threw. */
  evaluate(item: I): ItemAttributes {
    if (this.#hasNone) return DEFAULTS;
    const { costOf, groupOf, dedupeBy } = this.#options;
    const cost = costOf === undefined ? 1 : this.#call('costOf', costOf, item);
    if (typeof cost !== 'number' || !(cost > 0) || cost === Number.POSITIVE_INFINITY) {
      const got = typeof cost === 'number' ? cost : typeof cost;
      throw this.#fault(`costOf(item): expected a number above 0, got ${got}.`, undefined);
    }
    return {
      cost,
      group: groupOf && this.#call('groupOf', groupOf, item),
      key: dedupeBy && this.#call('dedupeBy', dedupeBy, item),
    };
  }

  #call<A>(name: string, attributeOf: (item: I) => A, item: I): A {
    try {
      return attributeOf(item);
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
