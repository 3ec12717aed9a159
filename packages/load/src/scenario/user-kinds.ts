/** The kinds of users of a scenario, with the tasks that a run has, and which user is of which kind. */
import type { Random } from '@batchwise/arena';
import { didYouMean } from 'batchwise';
import { LoadError } from '../load-error.js';
import type { WaitTime } from '../run/traffic.js';
import type { SequenceTask, Task, TaskFunction, UserKind } from './define-load.js';

export interface RunnableTask {
  readonly name: string;
  readonly weight: number;
  readonly run: TaskFunction;
}

export interface RunnableKind {
  readonly name: string;
  readonly weight: number;
  readonly waitTime: WaitTime | undefined;
  readonly state: (() => Record<string, unknown>) | undefined;
  readonly onStart: TaskFunction | undefined;
  readonly onStop: TaskFunction | undefined;
  readonly tasks: readonly RunnableTask[];
  /** One after the other, and not at random. */
  readonly isSequence: boolean;
}

export class UserKinds {
  readonly all: readonly RunnableKind[];
  readonly #ofUsers: RunnableKind[] = [];
  readonly #counts: number[];

  /** @throws {LoadError} INVALID_OPTION where no task is left */
  constructor(
    users: Readonly<Record<string, UserKind>>,
    tags: readonly string[] | undefined,
    fileName: string,
  ) {
    this.all = Object.entries(users)
      .map(([name, kind]) => runnable(name, kind, tags))
      .filter(({ weight, tasks }) => weight > 0 && tasks.length > 0);
    this.#counts = this.all.map(() => 0);
    if (this.all.length === 0) throw nothingLeft(users, tags, fileName);
  }

  /** Any number of users is as close to the weights as possible. The same in every process. */
  ofUser(index: number): RunnableKind {
    while (this.#ofUsers.length <= index) {
      let next = 0;
      let least = Number.POSITIVE_INFINITY;
      this.all.forEach(({ weight }, i) => {
        const share = ((this.#counts[i] as number) + 1) / weight;
        if (share < least) [next, least] = [i, share];
      });
      this.#counts[next] = (this.#counts[next] as number) + 1;
      this.#ofUsers.push(this.all[next] as RunnableKind);
    }
    return this.#ofUsers[index] as RunnableKind;
  }

  atRandom(random: Random): RunnableKind {
    return weighted(this.all, random);
  }
}

export function weighted<T extends { readonly weight: number }>(choices: readonly T[], random: Random): T {
  let left = random() * choices.reduce((sum, { weight }) => sum + weight, 0);
  for (const choice of choices) {
    left -= choice.weight;
    if (left < 0) return choice;
  }
  return choices.at(-1) as T;
}

function runnable(name: string, kind: UserKind, tags: readonly string[] | undefined): RunnableKind {
  const { weight = 1, waitTime, state, onStart, onStop, tasks, sequence } = kind;
  const all = Object.entries<TaskFunction | SequenceTask | Task>(tasks ?? sequence ?? {});
  return {
    name,
    weight,
    waitTime,
    state,
    onStart,
    onStop,
    isSequence: sequence !== undefined,
    tasks: all
      .map(([taskName, task]) => ({ ...parts(task), name: taskName }))
      .filter(
        (task) => task.weight > 0 && (tags === undefined || task.tags.some((tag) => tags.includes(tag))),
      ),
  };
}

function parts(task: TaskFunction | SequenceTask | Task) {
  if (typeof task === 'function') return { run: task, weight: 1, tags: [] };
  const weight = 'weight' in task ? (task.weight ?? 1) : 1;
  return { run: task.run, weight, tags: task.tags ?? [] };
}

function nothingLeft(
  users: Readonly<Record<string, UserKind>>,
  tags: readonly string[] | undefined,
  fileName: string,
): LoadError {
  if (tags === undefined) {
    return new LoadError('INVALID_OPTION', `${fileName}: users: expected a task with a weight above 0.`);
  }
  const known = new Set<string>();
  for (const { tasks, sequence } of Object.values(users)) {
    for (const task of Object.values<TaskFunction | SequenceTask>(tasks ?? sequence ?? {})) {
      for (const tag of typeof task === 'function' ? [] : (task.tags ?? [])) known.add(tag);
    }
  }
  const hint =
    known.size === 0
      ? ' No task has tags.'
      : didYouMean(tags[0] ?? '', known) || ` There are ${[...known].join(', ')}.`;
  return new LoadError('INVALID_OPTION', `${fileName}: no task has the tag ${tags.join(' or ')}.${hint}`);
}
