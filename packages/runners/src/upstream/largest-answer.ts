/** The largest answer of an upstream that is read. */
export const LARGEST_ANSWER_BYTES = 2 ** 30;
