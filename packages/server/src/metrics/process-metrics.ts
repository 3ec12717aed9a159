/**
 * The metrics of several processes, kept by the one that starts them. What a process had counted when it
 * died stays in the totals, so that no counter ever goes back; what it held goes with it.
 */
import { type Clock, realClock } from 'batchwise';
import { mergeSnapshots } from './merge-snapshots.js';
import type { MetricsSnapshot } from './metrics-snapshot.js';

export interface ProcessMetricsOptions {
  /** The metrics of the process that this is in. */
  readonly own: () => MetricsSnapshot;
  /** How long the processes have to answer; who has not by then is shown as it was before. @default 1000 */
  readonly deadlineMs?: number;
  readonly clock?: Clock;
}

/** Asks a process for its metrics. */
export type AskForMetrics = () => Promise<MetricsSnapshot>;

export class ProcessMetrics {
  readonly #own: () => MetricsSnapshot;
  readonly #deadlineMs: number;
  readonly #clock: Clock;
  readonly #processes = new Set<WatchedProcess>();
  /** Counters and histograms of those that are no more. */
  #retired: MetricsSnapshot = [];
  #collecting: Promise<MetricsSnapshot> | undefined;

  constructor({ own, deadlineMs = 1000, clock = realClock }: ProcessMetricsOptions) {
    this.#own = own;
    this.#deadlineMs = deadlineMs;
    this.#clock = clock;
  }

  /** A process has started: each time, also when it takes the place of another. */
  add(ask: AskForMetrics): WatchedProcess {
    const added = new WatchedProcess(ask, (last) => {
      this.#processes.delete(added);
      this.#retired = mergeSnapshots([this.#retired, last.filter(({ type }) => type !== 'gauge')]);
    });
    this.#processes.add(added);
    return added;
  }

  /** All processes as one. Whoever asks while it is being collected gets the same. */
  collect(): Promise<MetricsSnapshot> {
    this.#collecting ??= this.#collect().finally(() => {
      this.#collecting = undefined;
    });
    return this.#collecting;
  }

  /** All processes as one, as far as is known without asking them. */
  latest(): MetricsSnapshot {
    const running = Array.from(this.#processes, ({ snapshot }) => snapshot);
    return mergeSnapshots([this.#own(), ...running, this.#retired]);
  }

  async #collect(): Promise<MetricsSnapshot> {
    const answers = Promise.all(Array.from(this.#processes, (watched) => watched.ask()));
    let timer: unknown;
    const deadline = new Promise<void>((resolve) => {
      timer = this.#clock.setTimer(resolve, this.#deadlineMs);
    });
    await Promise.race([answers, deadline]);
    this.#clock.clearTimer(timer);
    return this.latest();
  }
}

export class WatchedProcess {
  readonly #ask: AskForMetrics;
  readonly #retire: (last: MetricsSnapshot) => void;
  #snapshot: MetricsSnapshot = [];
  #isRetired = false;
  /** Until the process answers it is not asked again: a hung one is not to find a heap of questions. */
  #asking: Promise<void> | undefined;
  #stopWaiting = (): void => {};

  constructor(ask: AskForMetrics, retire: (last: MetricsSnapshot) => void) {
    this.#ask = ask;
    this.#retire = retire;
  }

  /** What it said last. */
  get snapshot(): MetricsSnapshot {
    return this.#snapshot;
  }

  /** What it says unasked, as before it ends. Too late once it is retired. */
  update(snapshot: MetricsSnapshot): void {
    this.#snapshot = snapshot;
  }

  /** It is no more. */
  retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#retire(this.#snapshot);
    this.#stopWaiting();
  }

  /** Resolves when it has answered, or will not. */
  ask(): Promise<void> {
    this.#asking ??= new Promise<void>((resolve) => {
      this.#stopWaiting = resolve;
      this.#answer().then(resolve, resolve);
    }).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #answer(): Promise<void> {
    this.update(await this.#ask());
  }
}
