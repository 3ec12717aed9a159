/** Exit codes of the process. */
export const EXIT_CODES = {
  /** Success. `plan`: the target is met. */
  ok: 0,
  /** An unreadable file, invalid input, a failed handler. */
  failed: 1,
  /** An unknown command or flag, or an invalid value. */
  usage: 2,
  /** The result is complete, and the target is not met. */
  targetNotMet: 3,
} as const;
