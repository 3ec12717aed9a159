/** Runs the contenders one process at a time, in a different order each round. */
import { type Say, type Turns, takeTurns } from '@batchwise/bench-harness';
import { runJob } from './child-process.js';
import type { JobName, ParamsOf, ResultOf } from './jobs.js';

/** The results of all rounds, by contender. */
export type Results<Contender extends string, Name extends JobName> = Record<Contender, ResultOf<Name>[]>;

export class Rounds {
  readonly #count: number;
  readonly #say: Say;

  constructor(count: number, say: Say) {
    this.#count = count;
    this.#say = say;
  }

  run<Name extends JobName, Contender extends string>(
    job: Name,
    contenders: Readonly<Record<Contender, ParamsOf<Name>>>,
    count = this.#count,
  ): Promise<Results<Contender, Name>> {
    const turns = Object.entries<ParamsOf<Name>>(contenders).map(([name, params]) => [
      name,
      () => runJob(job, params),
    ]);
    return takeTurns(Object.fromEntries(turns) as Turns<Contender, ResultOf<Name>>, count, this.#say);
  }
}
