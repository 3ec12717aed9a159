/** What is sent, by every contender: a small JSON object, answered by itself. */
export interface Item {
  readonly id: number;
}

/** Batches of the contenders that have any. */
export const MAX_BATCH_SIZE = 64;
