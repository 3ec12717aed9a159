/**
 * A user that runs the tasks of a scenario. When a run is stopped, a task does not go on: the promise of its next
 * request is never settled, so that no code of the task runs after the end, not even in a loop that ignores errors.
 */
import type { Random } from '@batchwise/arena';
import type { WaitTime } from '../run/traffic.js';
import type { WorkUser } from '../run/work.js';
import { errorOutcome } from '../targets/error-outcome.js';
import type { Outcome } from '../targets/target.js';
import type { TaskFunction } from './define-load.js';
import type { LoadResponse, LoadUser, RequestOptions, UserTarget } from './load-user.js';
import type { ScenarioRequests } from './scenario-requests.js';
import { type RunnableKind, type RunnableTask, weighted } from './user-kinds.js';

const OK: Outcome = { kind: 'ok', responseBytes: 0 };

export class ScenarioUser implements LoadUser, WorkUser {
  readonly kind: string;
  readonly index: number;
  readonly state: Record<string, unknown>;
  readonly waitTime: WaitTime | undefined;
  /** Changed for each arrival of an open model. */
  random: Random;
  readonly #kind: RunnableKind;
  readonly #requests: ScenarioRequests;
  #nextInSequence = 0;
  /** Of the first request of a task. */
  #intendedAt: number | undefined;
  /** The run has been stopped, and this user is on its way out. */
  #isStopping = false;
  /** Whether the task has waited for anything but promises that were settled already. */
  #hasWaited = false;
  #waits = 0;
  #park: (() => void) | undefined;

  constructor(kind: RunnableKind, index: number, random: Random, requests: ScenarioRequests) {
    this.kind = kind.name;
    this.index = index;
    this.waitTime = kind.waitTime;
    this.random = random;
    this.#kind = kind;
    this.#requests = requests;
    this.state = this.#newState();
  }

  start(done: () => void): void {
    if (this.#kind.onStart === undefined) done();
    else this.#perform([{ name: 'onStart', run: this.#kind.onStart }], done);
  }

  /** One task. */
  run(intendedAt: number, done: () => void): void {
    this.#intendedAt = intendedAt;
    this.#perform([this.#nextTask()], done);
  }

  /** What one arrival does: one task, or the whole sequence. */
  arrive(intendedAt: number, done: () => void): void {
    this.#intendedAt = intendedAt;
    this.#perform(this.#kind.isSequence ? this.#kind.tasks : [this.#nextTask()], done);
  }

  stop(done: () => void): void {
    this.#isStopping = true;
    if (this.#kind.onStop === undefined) done();
    else this.#perform([{ name: 'onStop', run: this.#kind.onStop }], done);
  }

  pick<T>(values: readonly T[]): T {
    if (values.length === 0) throw new TypeError('pick(values): expected at least one value.');
    return values[Math.floor(this.random() * values.length)] as T;
  }

  sample(name: string): unknown {
    return this.#requests.sample(name);
  }

  get(url: string, options: RequestOptions = {}): Promise<LoadResponse> {
    return this.request('GET', url, options);
  }

  post(url: string, options: RequestOptions = {}): Promise<LoadResponse> {
    return this.request('POST', url, options);
  }

  async request(method: string, url: string, options: RequestOptions = {}): Promise<LoadResponse> {
    const request = this.#requests.http.request(method, url, options);
    return this.#waitFor<LoadResponse>((settle) => {
      const end = this.#begin(request.name);
      request.send((outcome, response) => {
        if (end(outcome)) settle(response);
      });
    });
  }

  async call<T>(name: string, fn: () => T | Promise<T>): Promise<T> {
    const called = await this.#waitFor<{ readonly value: T } | { readonly error: unknown }>((settle) => {
      const end = this.#begin(name);
      // In a later turn: a loop around a function that waits for nothing would keep the event loop from everything else.
      const settleLater: typeof settle = (value) => this.#requests.defer(() => settle(value));
      new Promise<T>((resolve) => resolve(fn())).then(
        (value) => {
          if (end(OK)) settleLater({ value });
        },
        (error: unknown) => {
          if (!end(errorOutcome(error))) return;
          this.#requests.hasCounted(error);
          settleLater({ error });
        },
      );
    });
    if ('error' in called) throw called.error;
    return called.value;
  }

  target(name: string): UserTarget {
    const target = this.#requests.target(name);
    return {
      send: () =>
        this.#waitFor<Outcome>((settle) => {
          const end = this.#begin(target.name);
          target.send(this.#requests.nextNumber(name), (outcome) => {
            if (end(outcome)) settle(outcome);
          });
        }),
    };
  }

  sleep(seconds: number): Promise<void> {
    this.#intendedAt = undefined;
    return this.#waitFor<void>((settle) => this.#requests.after(1000 * seconds, settle));
  }

  #nextTask(): RunnableTask {
    const { tasks, isSequence } = this.#kind;
    if (!isSequence) return weighted(tasks, this.random);
    return tasks[this.#nextInSequence++ % tasks.length] as RunnableTask;
  }

  #newState(): Record<string, unknown> {
    const startedAt = this.#requests.now();
    try {
      return this.#kind.state?.() ?? {};
    } catch (error) {
      this.#requests.taskFailed('state', error, startedAt);
      return {};
    }
  }

  #begin(name: string): (outcome: Outcome) => boolean {
    const end = this.#requests.begin(name, this.#intendedAt);
    this.#intendedAt = undefined;
    return end;
  }

  /** A promise that is settled while the user may go on, and never after that. */
  #waitFor<T>(begin: (settle: (value: T) => void) => void): Promise<T> {
    this.#hasWaited = true;
    return new Promise<T>((resolve) => {
      if (!this.#mayGoOn) {
        this.#parkWhenIdle();
        return;
      }
      this.#waits++;
      begin((value) => {
        this.#waits--;
        if (this.#mayGoOn) resolve(value);
        else this.#parkWhenIdle();
      });
    });
  }

  /** A task may wait for several things at once: all of them end first. */
  #parkWhenIdle(): void {
    if (this.#waits === 0) this.#park?.();
  }

  get #mayGoOn(): boolean {
    return !this.#requests.isHalted || (this.#isStopping && !this.#requests.isOver);
  }

  /** Runs tasks in order. One that throws is counted as failed, and the user goes on. */
  #perform(tasks: readonly { readonly name: string; readonly run: TaskFunction }[], done: () => void): void {
    this.#hasWaited = false;
    let isDone = false;
    const end = () => {
      if (isDone) return;
      isDone = true;
      this.#park = undefined;
      // A user whose tasks wait for nothing and who does not pause would keep the event loop from timers and sockets.
      if (this.#hasWaited) done();
      else this.#requests.defer(done);
    };
    this.#park = () => {
      this.#hasWaited = false;
      end();
    };
    void this.#runAll(tasks).then(end);
  }

  async #runAll(tasks: readonly { readonly name: string; readonly run: TaskFunction }[]): Promise<void> {
    for (const { name, run } of tasks) {
      if (!this.#mayGoOn) return;
      const startedAt = this.#requests.now();
      try {
        await run(this);
      } catch (error) {
        this.#requests.taskFailed(name, error, startedAt);
      }
    }
  }
}
