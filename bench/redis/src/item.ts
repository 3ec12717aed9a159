/** What is sent, by every contender: a small JSON object, answered by itself. */
export interface Item {
  readonly id: number;
  /** Answered at once, whatever a batch takes: it is only there to have the code compiled that it runs through. */
  readonly isHeat?: true;
}

/** Batches of the contenders that have any. */
export const MAX_BATCH_SIZE = 64;
