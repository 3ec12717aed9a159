/** What the process says by its exit code. */
export const EXIT_CODES = {
  /** Done; of a plan: the target is held. */
  ok: 0,
  /** A file that cannot be read, bad input, a handler that failed. */
  failed: 1,
  /** A command or a flag that does not exist, or a value that it does not take. */
  usage: 2,
  /** The plan is made, and its answer is no. */
  targetNotHeld: 3,
} as const;
