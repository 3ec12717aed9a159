/** Contenders take turns, one at a time, each round in another order. */
import type { Say } from './figure.js';

export type Turns<Result> = Readonly<Record<string, () => Promise<Result>>>;

/** By name: one result a round. */
export async function takeTurns<Result>(
  turns: Turns<Result>,
  rounds: number,
  say: Say,
): Promise<Record<string, Result[]>> {
  const names = Object.keys(turns);
  const results: Record<string, Result[]> = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of rotated(names, round)) {
      say(`round ${round + 1} of ${rounds}: ${name}`);
      const result = await turns[name]?.();
      if (result !== undefined) results[name]?.push(result);
    }
  }
  return results;
}

/** Who goes first changes from round to round, so that nobody always runs in another's wake. */
function rotated<T>(list: readonly T[], by: number): T[] {
  const first = by % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
}
