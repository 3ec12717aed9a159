/** Contenders take turns, one process at a time, each round in another order. */
import { runJob } from './child-process.js';
import type { JobName, ParamsOf, ResultOf } from './jobs.js';

/** By contender: the results of its rounds. */
export type Results<Contender extends string, Name extends JobName> = Record<Contender, ResultOf<Name>[]>;

export type Progress = (text: string) => void;

export class Rounds {
  readonly #count: number;
  readonly #progress: Progress;

  constructor(count: number, progress: Progress) {
    this.#count = count;
    this.#progress = progress;
  }

  async run<Name extends JobName, Contender extends string>(
    job: Name,
    contenders: Readonly<Record<Contender, ParamsOf<Name>>>,
    count = this.#count,
  ): Promise<Results<Contender, Name>> {
    const names = Object.keys(contenders) as Contender[];
    const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as Results<
      Contender,
      Name
    >;
    for (let round = 0; round < count; round++) {
      for (const name of rotated(names, round)) {
        this.#progress(`round ${round + 1} of ${count}: ${name}`);
        results[name].push(await runJob(job, contenders[name]));
      }
    }
    return results;
  }
}

/** Who goes first changes from round to round, so that nobody always runs in another's wake. */
function rotated<T>(list: readonly T[], by: number): T[] {
  const first = by % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
}
