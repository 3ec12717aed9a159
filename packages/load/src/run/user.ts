/** One user of a closed model: a small state machine. Work that is one request needs no promise. */
import type { Random } from '@batchwise/arena';
import type { Clock } from 'batchwise';
import type { WaitTime } from './traffic.js';
import { nextStartAt } from './wait-time.js';
import type { WorkUser } from './work.js';

export interface UserOptions {
  readonly work: WorkUser;
  readonly clock: Clock;
  readonly waitTime: WaitTime;
  readonly random: Random;
  /** `wake` is called then. */
  pauseUntil(at: number): void;
  onStopped(): void;
}

export class User {
  readonly #options: UserOptions;
  #state: 'starting' | 'pausing' | 'working' | 'stopping' = 'starting';
  /** Whether it is to stop when it has done what it does. */
  #isToStop = false;
  #startedAt = 0;

  constructor(options: UserOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.work.start(this.#onStarted);
  }

  wake(intendedAt: number): void {
    if (this.#state !== 'pausing') return;
    this.#run(intendedAt);
  }

  /** At once where it pauses. */
  stop(): void {
    if (this.#state === 'pausing') this.#stop();
    else this.#isToStop = true;
  }

  readonly #onStarted = (): void => {
    if (this.#isToStop) this.#stop();
    else this.#run(this.#options.clock.now());
  };

  #run(intendedAt: number): void {
    this.#state = 'working';
    this.#startedAt = intendedAt;
    this.#options.work.run(intendedAt, this.#onDone);
  }

  readonly #onDone = (): void => {
    if (this.#isToStop) {
      this.#stop();
      return;
    }
    const { waitTime, clock, random } = this.#options;
    const now = clock.now();
    const at = nextStartAt(waitTime, this.#startedAt, now, random);
    if (at <= now) {
      this.#run(now);
    } else {
      this.#state = 'pausing';
      this.#options.pauseUntil(at);
    }
  };

  #stop(): void {
    this.#state = 'stopping';
    this.#options.work.stop(this.#options.onStopped);
  }
}
