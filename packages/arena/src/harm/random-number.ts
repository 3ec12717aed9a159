/** Numbers of random scenarios, short enough to be read. */
import type { Random } from '../simulation/random.js';

/** Every order of magnitude as likely, to three digits. */
export function between(random: Random, least: number, most: number): number {
  return rounded(least * (most / least) ** random());
}

/** To three digits: files are read by people. */
export function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
