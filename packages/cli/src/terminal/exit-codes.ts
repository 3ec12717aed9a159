/** Exit codes of the process. */
export const EXIT_CODES = {
  /** Success; of a plan: the target is held. */
  ok: 0,
  /** An unreadable file, invalid input, a failed handler. */
  failed: 1,
  /** An unknown command or flag, or an invalid value. */
  usage: 2,
  /** The plan is complete, and the target is not held. */
  targetNotHeld: 3,
} as const;
