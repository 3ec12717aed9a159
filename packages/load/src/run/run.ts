/** A run as its driver sees it: collects the figures of its parts, and hands on what is asked of them. */
import type { Clock } from 'batchwise';
import type { LoadReport, RunState, TrafficFacts } from '../report/load-report.js';
import { makeReport } from '../report/make-report.js';
import { judge, parseThreshold, type Threshold } from '../report/threshold.js';
import type { Interval } from '../statistics/interval.js';
import { Statistics } from '../statistics/statistics.js';
import { checkShapeStep } from './check-run-spec.js';
import type { LoadRun, RunSpec } from './load-run.js';
import { trafficFacts } from './traffic-facts.js';

/** A process that makes a share of the traffic. */
export interface Part {
  setUsers(users: number, spawnRate: number): void;
  stop(): void;
}

export interface RunOptions {
  readonly spec: RunSpec;
  /** As the report names what requests are sent to. */
  readonly target: string;
  /** Whether a scenario decides how many users there are. */
  readonly hasShape: boolean;
  readonly clock: Clock;
  /** On the clock, and for the report. */
  readonly startAt: number;
  readonly startedAt: Date;
}

export class Run implements LoadRun {
  readonly spec: RunSpec;
  readonly ended: Promise<LoadReport>;
  readonly #options: RunOptions;
  #statistics = new Statistics();
  /** Of the run, with which the report begins: above 0 after a reset. */
  #firstSecond = 0;
  readonly #parts = new Set<Part>();
  /** Parts that make traffic. */
  readonly #making = new Set<Part>();
  readonly #warnings: string[] = [];
  readonly #startAt: number;
  readonly #thresholds: readonly Threshold[];
  #traffic: TrafficFacts;
  #followsShape: boolean;
  #state: RunState = 'running';
  #stoppedAfterSeconds = 0;
  #resolveEnded: (report: LoadReport) => void = () => {};

  constructor(options: RunOptions) {
    this.#options = options;
    this.spec = options.spec;
    this.#startAt = options.startAt;
    this.#traffic = trafficFacts(options.spec);
    this.#followsShape = options.hasShape;
    this.#thresholds = (options.spec.failIf ?? []).map(parseThreshold);
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  get state(): RunState {
    return this.#state;
  }

  get arrivals(): readonly number[] {
    return this.#statistics.arrivalTimes;
  }

  report(): LoadReport {
    const { spec, target, startedAt } = this.#options;
    const report = makeReport(this.#statistics, {
      state: this.#state,
      startedAt: new Date(startedAt.getTime() + 1000 * this.#firstSecond),
      seconds: Math.max(0, this.#seconds() - this.#firstSecond),
      target,
      traffic: this.#traffic,
      targetLatencyMs: spec.targetLatencyMs,
      processes: spec.processes ?? 1,
    });
    return {
      ...report,
      traffic: this.#followsShape ? withMostUsers(report) : report.traffic,
      warnings: [...this.#warnings, ...report.warnings],
      verdicts: judge(report, this.#thresholds),
    };
  }

  setUsers(users: number, spawnRate: number): void {
    checkShapeStep({ users, spawnRate });
    if (this.#traffic.kind !== 'users' || this.#state !== 'running') return;
    this.#followsShape = false;
    this.#traffic = { ...this.#traffic, users, spawnRate };
    for (const part of this.#parts) part.setUsers(users, spawnRate);
  }

  reset(): void {
    if (this.#state !== 'running') return;
    this.#statistics = new Statistics();
    // The figures of a second come together, at its end: the one that is under way counts.
    this.#firstSecond = Math.floor(this.#elapsed());
  }

  async stop(): Promise<void> {
    for (const part of this.#parts) part.stop();
    await this.ended;
  }

  addPart(part: Part): void {
    this.#parts.add(part);
    this.#making.add(part);
  }

  addInterval(interval: Interval): void {
    const second = interval.second - this.#firstSecond;
    // A process may report a second after it has been discarded.
    if (second >= 0) this.#statistics.add({ ...interval, second });
  }

  warn(text: string): void {
    this.#warnings.push(text);
  }

  /** A part makes no more traffic. */
  partStopping(part: Part, afterSeconds: number): void {
    this.#making.delete(part);
    this.#stoppedAfterSeconds = Math.max(this.#stoppedAfterSeconds, afterSeconds);
    if (this.#making.size === 0 && this.#state === 'running') this.#state = 'stopping';
  }

  partEnded(part: Part): void {
    if (this.#making.has(part)) this.partStopping(part, this.#elapsed());
    if (!this.#parts.delete(part) || this.#parts.size > 0) return;
    this.#state = 'ended';
    this.#resolveEnded(this.report());
  }

  #seconds(): number {
    return this.#state === 'running' ? this.#elapsed() : this.#stoppedAfterSeconds;
  }

  #elapsed(): number {
    return Math.max(0, this.#options.clock.now() - this.#startAt) / 1000;
  }
}

/** A shape has no number of users of its own: the most that there were. */
function withMostUsers({ traffic, series }: LoadReport): TrafficFacts {
  if (traffic.kind !== 'users') return traffic;
  return { ...traffic, users: series.reduce((most, point) => Math.max(most, point.users), 0) };
}
