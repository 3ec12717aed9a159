/** The maximum size of an upstream's response. */
export const MAX_ANSWER_BYTES = 2 ** 30;
