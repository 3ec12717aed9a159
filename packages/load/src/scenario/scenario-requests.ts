/** What the users of a scenario share in one process: connections, targets, samples, and the record of requests. */
import { resolve } from 'node:path';
import { type Clock, didYouMean } from 'batchwise';
import { LoadError } from '../load-error.js';
import type { Share } from '../run/share.js';
import { NO_RESPONSE_AT_END } from '../run/work.js';
import type { Recorder } from '../statistics/interval.js';
import { createTarget } from '../targets/create-target.js';
import { errorOutcome, shortReason } from '../targets/error-outcome.js';
import { readSamples } from '../targets/read-samples.js';
import type { Outcome, Target } from '../targets/target.js';
import type { Scenario } from './load-scenario.js';
import { ScenarioHttp } from './scenario-http.js';

interface Pending {
  readonly name: string;
  readonly intendedAt: number;
  readonly sentAt: number;
}

export class ScenarioRequests {
  readonly http: ScenarioHttp;
  readonly #recorder: Recorder;
  readonly #clock: Clock;
  readonly #share: Share;
  readonly #targets: ReadonlyMap<string, Target>;
  readonly #samples: ReadonlyMap<string, readonly unknown[]>;
  readonly #numbers = new Map<string, number>();
  readonly #pending = new Set<Pending>();
  readonly #sleeping = new Map<() => void, unknown>();
  /** Errors that a request was counted with: a task that lets them through is not counted again. */
  readonly #counted = new WeakSet<object>();
  #state: 'running' | 'halted' | 'over' = 'running';

  /** @throws {LoadError} INVALID_OPTION */
  constructor(scenario: Scenario, host: string | undefined, recorder: Recorder, clock: Clock, share: Share) {
    const { timeoutMs, tls, targets = {}, samples = {} } = scenario;
    this.http = new ScenarioHttp({ host, timeoutMs, tls });
    this.#recorder = recorder;
    this.#clock = clock;
    this.#share = share;
    this.#targets = new Map(Object.entries(targets).map(([name, spec]) => [name, createTarget(spec)]));
    this.#samples = new Map(
      Object.entries(samples).map(([name, from]) => [name, samplesOf(from, scenario, name)]),
    );
  }

  get inFlight(): number {
    return this.#pending.size;
  }

  get connections(): number {
    let connections = this.http.open;
    for (const target of this.#targets.values()) connections += target.connections;
    return connections;
  }

  /** No more requests, but those of users that stop. */
  get isHalted(): boolean {
    return this.#state !== 'running';
  }

  get isOver(): boolean {
    return this.#state === 'over';
  }

  now(): number {
    return this.#clock.now();
  }

  defer(callback: () => void): void {
    this.#clock.defer(callback);
  }

  /** @throws {LoadError} */
  async prepare(): Promise<void> {
    await this.http.check();
    await Promise.all(Array.from(this.#targets.values(), (target) => target.prepare()));
  }

  /** The function that ends the request is to be called once; it returns false when the request was given up before. */
  begin(name: string, intendedAt: number | undefined): (outcome: Outcome) => boolean {
    const sentAt = this.#clock.now();
    const pending = { name, sentAt, intendedAt: intendedAt ?? sentAt };
    this.#pending.add(pending);
    return (outcome) => {
      if (!this.#pending.delete(pending)) return false;
      this.#recorder.record(name, outcome, { ...pending, endedAt: this.#clock.now() });
      return true;
    };
  }

  hasCounted(error: unknown): void {
    if (typeof error === 'object' && error !== null) this.#counted.add(error);
  }

  taskFailed(name: string, error: unknown, startedAt: number): void {
    if (this.isOver || (typeof error === 'object' && error !== null && this.#counted.has(error))) return;
    const times = { intendedAt: startedAt, sentAt: startedAt, endedAt: this.#clock.now() };
    this.#recorder.record(name, { ...errorOutcome(error), kind: 'failed' }, times);
  }

  target(name: string): Target {
    const target = this.#targets.get(name);
    if (target !== undefined) return target;
    throw new TypeError(unknownName('target', name, this.#targets.keys()));
  }

  sample(name: string): unknown {
    const samples = this.#samples.get(name);
    if (samples === undefined) throw new TypeError(unknownName('sample', name, this.#samples.keys()));
    return samples[this.nextNumber(`sample ${name}`) % samples.length];
  }

  /** Numbers of processes interleave, so that together they go through all samples. */
  nextNumber(purpose: string): number {
    const next = this.#numbers.get(purpose) ?? 0;
    this.#numbers.set(purpose, next + 1);
    return next * this.#share.count + this.#share.index;
  }

  /** Or when the run is stopped. */
  after(ms: number, callback: () => void): void {
    const wake = () => {
      this.#sleeping.delete(wake);
      callback();
    };
    this.#sleeping.set(wake, this.#clock.setTimer(wake, ms));
  }

  halt(): void {
    if (this.#state === 'running') this.#state = 'halted';
    this.#wakeAll();
  }

  abandon(): void {
    this.#state = 'over';
    this.#wakeAll();
    const endedAt = this.#clock.now();
    const outcome: Outcome = { kind: 'failed', reason: NO_RESPONSE_AT_END, responseBytes: 0 };
    for (const pending of this.#pending)
      this.#recorder.record(pending.name, outcome, { ...pending, endedAt });
    this.#pending.clear();
  }

  async close(): Promise<void> {
    this.abandon();
    await Promise.all([this.http.close(), ...Array.from(this.#targets.values(), (target) => target.close())]);
  }

  #wakeAll(): void {
    for (const [wake, timer] of [...this.#sleeping]) {
      this.#clock.clearTimer(timer);
      wake();
    }
  }
}

function samplesOf(from: string | readonly unknown[], scenario: Scenario, name: string): readonly unknown[] {
  if (typeof from !== 'string') return from;
  const file = from.startsWith('@') ? `@${resolve(scenario.folder, from.slice(1))}` : from;
  try {
    return readSamples(file).map((sample) =>
      'json' in sample ? sample.json : Buffer.from(sample.base64, 'base64'),
    );
  } catch (error) {
    throw new LoadError(
      'INVALID_OPTION',
      `${scenario.fileName}: samples.${name}: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

function unknownName(what: string, name: string, known: Iterable<string>): string {
  const names = [...known];
  const hint = didYouMean(name, names) || (names.length === 0 ? '' : ` There are ${names.join(', ')}.`);
  return shortReason(`${what}(name): the scenario has no ${what} ${name}.${hint}`);
}
