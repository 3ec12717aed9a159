/**
 * The metrics of all processes. Each tells its own every second and when asked, so that a crash loses
 * little, and what ended processes have counted is not forgotten: a counter never goes back.
 */
import type { Clock } from 'batchwise';
import type { ProcessKind, ProcessSnapshot } from './control-message.js';
import type { SupervisedProcess } from './supervised-process.js';

/** Puts what a process that ended has counted together with what is kept of those before it. */
export type FoldSnapshots = (kept: unknown, ended: unknown) => unknown;

interface Place {
  readonly kind: ProcessKind;
  readonly runner: string | undefined;
  readonly index: number;
  latest: unknown;
  kept: unknown;
}

interface Question {
  readonly id: number;
  readonly waitsFor: Set<SupervisedProcess>;
  readonly onAnswered: () => void;
}

export class SnapshotKeeper {
  readonly #clock: Clock;
  readonly #fold: FoldSnapshots;
  readonly #places = new Map<SupervisedProcess, Place>();
  readonly #questions = new Set<Question>();
  #nextId = 0;

  constructor(clock: Clock, fold: FoldSnapshots) {
    this.#clock = clock;
    this.#fold = fold;
  }

  tell(from: SupervisedProcess, snapshot: unknown, id: number | undefined): void {
    this.#placeOf(from).latest = snapshot;
    if (id === undefined) return;
    for (const question of this.#questions) if (question.id === id) this.#answered(question, from);
  }

  ended(process: SupervisedProcess): void {
    const place = this.#placeOf(process);
    if (place.latest !== undefined) {
      place.kept = place.kept === undefined ? place.latest : this.#fold(place.kept, place.latest);
      place.latest = undefined;
    }
    for (const question of this.#questions) this.#answered(question, process);
  }

  /** Asks all; of those who do not answer in time, what they said last counts. */
  async collect(processes: readonly SupervisedProcess[], deadlineMs: number): Promise<ProcessSnapshot[]> {
    const asked = processes.filter(({ isReady }) => isReady);
    if (asked.length > 0) await this.#ask(asked, deadlineMs);
    return this.#all();
  }

  #ask(processes: readonly SupervisedProcess[], deadlineMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#nextId += 1;
      const question: Question = {
        id: this.#nextId,
        waitsFor: new Set(processes),
        onAnswered: () => {
          this.#clock.clearTimer(timer);
          this.#questions.delete(question);
          resolve();
        },
      };
      const timer = this.#clock.setTimer(question.onAnswered, deadlineMs);
      this.#questions.add(question);
      for (const process of processes) process.send({ type: 'snapshot', id: question.id });
    });
  }

  #answered(question: Question, by: SupervisedProcess): void {
    question.waitsFor.delete(by);
    if (question.waitsFor.size === 0) question.onAnswered();
  }

  #all(): ProcessSnapshot[] {
    const snapshots: ProcessSnapshot[] = [];
    for (const { kind, runner, index, latest, kept } of this.#places.values()) {
      if (kept !== undefined) snapshots.push({ kind, runner, index, isAlive: false, snapshot: kept });
      if (latest !== undefined) snapshots.push({ kind, runner, index, isAlive: true, snapshot: latest });
    }
    return snapshots;
  }

  #placeOf(process: SupervisedProcess): Place {
    const found = this.#places.get(process);
    if (found !== undefined) return found;
    const { kind, runner, index } = process;
    const place = { kind, runner, index, latest: undefined, kept: undefined };
    this.#places.set(process, place);
    return place;
  }
}
