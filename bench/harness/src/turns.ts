/** Contenders take turns, one at a time, each round in another order. */
import type { Say } from './say.js';

export type Turns<Name extends string, Result> = Readonly<Record<Name, () => Promise<Result>>>;

/** By name: one result a round. */
export async function takeTurns<Name extends string, Result>(
  turns: Turns<Name, Result>,
  rounds: number,
  say: Say,
): Promise<Record<Name, Result[]>> {
  const names = Object.keys(turns) as Name[];
  const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Result[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of rotated(names, round)) {
      say(`round ${round + 1} of ${rounds}: ${name}`);
      results[name].push(await turns[name]());
    }
  }
  return results;
}

/** Who goes first changes from round to round, so that nobody always runs in another's wake. */
function rotated<T>(list: readonly T[], by: number): T[] {
  const first = by % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
}
