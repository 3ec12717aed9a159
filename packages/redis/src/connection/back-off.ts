const FIRST_MS = 50;
const LONGEST_MS = 2_000;

/**
 * How long to wait before attempt number `attempt`, from 1: doubling from 50 ms to 2 s. Between half and the whole of
 * that at random, so that those who lost Redis in the same moment do not come back in the same moment.
 */
export function backOffMs(attempt: number, random: () => number = Math.random): number {
  const whole = Math.min(FIRST_MS * 2 ** Math.min(attempt - 1, 16), LONGEST_MS);
  return Math.max(FIRST_MS, whole * (0.5 + random() / 2));
}
