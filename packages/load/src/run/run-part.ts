/**
 * What one process does of a run: makes its share of the traffic, takes the figures of each second, ends. The command's
 * own process and child processes are driven through the same interface.
 */
import type { Clock } from 'batchwise';
import type { Interval, Recorder } from '../statistics/interval.js';
import { Alarm } from './alarm.js';
import { arrivalTimes } from './arrival-times.js';
import { Arrivals } from './arrivals.js';
import type { LoadShape } from './load-shape.js';
import type { SelfMonitor } from './self-monitor.js';
import { type Share, sharedLimit } from './share.js';
import type { Traffic } from './traffic.js';
import { Users } from './users.js';
import type { Work } from './work.js';

export interface RunPartOptions {
  readonly work: Work;
  readonly recorder: Recorder;
  readonly traffic: Traffic;
  /** Of a scenario: the users over time. */
  readonly shape?: LoadShape | undefined;
  readonly seconds?: number | undefined;
  readonly stopSeconds: number;
  readonly seed: number;
  readonly share: Share;
  readonly clock: Clock;
  readonly monitor: Pick<SelfMonitor, 'take' | 'close'>;
  readonly onInterval: (interval: Interval) => void;
  /** No more traffic is made; the argument is the time since the start. */
  readonly onStopping: (afterSeconds: number) => void;
  readonly onEnded: () => void;
}

export class RunPart {
  readonly #options: RunPartOptions;
  readonly #ticks: Alarm;
  readonly #end: Alarm;
  readonly #shapeTicks: Alarm;
  #traffic: { readonly users: Users } | { readonly arrivals: Arrivals } | undefined;
  #shape: LoadShape | undefined;
  #startAt = 0;
  #second = 0;
  #state: 'ready' | 'running' | 'stopping' | 'ended' = 'ready';

  constructor(options: RunPartOptions) {
    const { clock } = options;
    this.#options = options;
    this.#shape = options.shape;
    this.#ticks = new Alarm(clock, this.#onTick);
    this.#end = new Alarm(clock, () => this.#onTimeUp());
    this.#shapeTicks = new Alarm(clock, this.#onShape);
  }

  /** `at` is a time on the clock, not after now: that from which all times of the run are counted. */
  start(at: number): void {
    const { traffic, seconds, work, clock, share, seed, recorder } = this.#options;
    const endAt = seconds === undefined ? Number.POSITIVE_INFINITY : at + 1000 * seconds;
    this.#startAt = at;
    recorder.start(at);
    this.#state = 'running';
    this.#ticks.ringBy(at + 1000);
    this.#end.ringBy(endAt);
    if (traffic.kind === 'arrivals') {
      const arrivals = new Arrivals({
        clock,
        work,
        recorder,
        share,
        times: arrivalTimes(traffic.schedule, seed),
        maxInFlight: sharedLimit(traffic.maxInFlight, share),
        startAt: at,
        endAt,
        onDone: this.#onArrivalDone,
        onLast: () => this.stop(),
      });
      this.#traffic = { arrivals };
      arrivals.start();
      return;
    }
    const users = new Users({ clock, work, share, seed, waitTime: traffic.waitTime });
    this.#traffic = { users };
    if (this.#shape === undefined) users.set(traffic.users, traffic.spawnRate);
    else this.#onShape(clock.now());
  }

  /** Of a closed model. A shape has no say from here on. */
  setUsers(users: number, spawnRate: number): void {
    if (this.#traffic === undefined || 'arrivals' in this.#traffic) return;
    this.#shape = undefined;
    this.#shapeTicks.clear();
    this.#traffic.users.set(users, spawnRate);
  }

  /** Sends no more, and ends when all responses are there or the time for them is up. */
  stop(): void {
    if (this.#state !== 'running') return;
    const { clock, work, stopSeconds, onStopping } = this.#options;
    const now = clock.now();
    this.#state = 'stopping';
    this.#end.clear();
    this.#shapeTicks.clear();
    this.#end.ringBy(now + 1000 * stopSeconds);
    if (this.#traffic !== undefined && 'arrivals' in this.#traffic) this.#traffic.arrivals.stop(now);
    work.halt();
    onStopping(Math.max(0, now - this.#startAt) / 1000);
    if (this.#traffic !== undefined && 'users' in this.#traffic)
      this.#traffic.users.stop(() => this.#finish());
    else this.#onArrivalDone();
  }

  readonly #onArrivalDone = (): void => {
    if (this.#state !== 'stopping' || this.#traffic === undefined || 'users' in this.#traffic) return;
    if (this.#traffic.arrivals.inFlight === 0) this.#options.work.release(() => this.#finish());
  };

  #onTimeUp(): void {
    if (this.#state === 'running') this.stop();
    else this.#finish();
  }

  #finish(): void {
    if (this.#state !== 'stopping') return;
    const { clock, monitor, work, onEnded } = this.#options;
    this.#state = 'ended';
    work.abandon();
    this.#end.clear();
    this.#ticks.clear();
    this.#take(clock.now());
    monitor.close();
    onEnded();
  }

  readonly #onTick = (now: number): void => {
    this.#take(now);
    this.#ticks.ringBy(this.#startAt + 1000 * (this.#second + 1));
  };

  #take(now: number): void {
    const { recorder, monitor, work, onInterval } = this.#options;
    // A tick that is late by seconds has the figures of all of them; the series goes on with the present second.
    const second = Math.max(this.#second, Math.round((now - this.#startAt) / 1000) - 1);
    const users = this.#traffic !== undefined && 'users' in this.#traffic ? this.#traffic.users.count : 0;
    this.#second = second + 1;
    const { inFlight, connections } = work;
    const interval = recorder.take(second, { users, inFlight, connections, ...monitor.take(now) });
    // What comes after the last tick, often nothing.
    const isEmpty = interval.tallies.size === 0 && interval.arrivals.due === 0;
    if (this.#state !== 'ended' || second === 0 || !isEmpty) onInterval(interval);
  }

  readonly #onShape = (now: number): void => {
    if (this.#shape === undefined || this.#traffic === undefined || 'arrivals' in this.#traffic) return;
    const step = this.#shape.at((now - this.#startAt) / 1000);
    if (step === null) {
      this.stop();
      return;
    }
    this.#traffic.users.set(step.users, step.spawnRate);
    const seconds = Math.floor((now - this.#startAt) / 1000 + 1e-9);
    this.#shapeTicks.ringBy(this.#startAt + 1000 * (seconds + 1));
  };
}
