/**
 * The closed model: users that each do one thing at a time, with pauses in between. Users are started and stopped at
 * the spawn rate. Every process goes through the same plan for all users and has every N-th user itself, so that
 * the parts add up without messages between them.
 */
import { randomStream } from '@batchwise/arena';
import type { Clock } from 'batchwise';
import { Alarm } from './alarm.js';
import type { Share } from './share.js';
import type { WaitTime } from './traffic.js';
import { User } from './user.js';
import { WakeUps } from './wake-ups.js';
import type { Work } from './work.js';

/** Whatever is due, responses are read in between. */
const LONGEST_TURN_MS = 5;
/** Reading the clock takes longer than taking a step: it is read once for so many of them. */
const STEPS_PER_CLOCK = 32;

export interface UsersOptions {
  readonly clock: Clock;
  readonly work: Work;
  readonly share: Share;
  readonly waitTime: WaitTime;
  readonly seed: number;
}

export class Users {
  readonly #options: UsersOptions;
  readonly #alarm: Alarm;
  readonly #waiting = new WakeUps<User>();
  /** Users of this process that are not to stop, oldest first. */
  readonly #users: User[] = [];
  /** Users of this process that have started and not stopped. */
  #present = 0;
  /** Of all processes together. */
  #planned = 0;
  #wanted = 0;
  #spawnGapMs = 0;
  #nextChangeAt = Number.POSITIVE_INFINITY;
  #lastChangeAt = Number.NEGATIVE_INFINITY;
  #isStopped = false;
  #isDeferred = false;
  #onAllStopped: (() => void) | undefined;

  constructor(options: UsersOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, this.#onAlarm);
  }

  get count(): number {
    return this.#present;
  }

  /** From now on: so many users in all processes together, so many more or fewer per second. */
  set(users: number, spawnRate: number): void {
    if (this.#isStopped) return;
    const now = this.#options.clock.now();
    this.#wanted = users;
    this.#spawnGapMs = 1000 / spawnRate;
    // Not at once where the last change was just now: calls that follow each other do not exceed the rate.
    this.#nextChangeAt = Math.max(now, this.#lastChangeAt + this.#spawnGapMs);
    this.#turn(now);
  }

  /** Users that pause stop at once, the others when they are done. */
  stop(onAllStopped: () => void): void {
    this.#isStopped = true;
    this.#alarm.clear();
    this.#onAllStopped = onAllStopped;
    const stopping = this.#users.splice(0);
    for (const user of stopping) user.stop();
    this.#reportAllStopped();
  }

  readonly #onAlarm = (now: number): void => this.#turn(now);

  readonly #onDeferred = (): void => {
    this.#isDeferred = false;
    this.#turn(this.#options.clock.now());
  };

  /** Does what is due, for one turn of the event loop. */
  #turn(now: number): void {
    if (this.#isStopped || this.#isDeferred) return;
    const { clock } = this.#options;
    const turnEndsAt = now + LONGEST_TURN_MS;
    for (let done = 1; this.#changeOne(now) || this.#wakeOne(now); done++) {
      if (done % STEPS_PER_CLOCK === 0 && clock.now() > turnEndsAt) {
        this.#isDeferred = true;
        clock.defer(this.#onDeferred);
        return;
      }
    }
    if (this.#isStopped) return;
    if (this.#planned !== this.#wanted) this.#alarm.ringBy(this.#nextChangeAt);
    this.#alarm.ringBy(this.#waiting.earliest);
  }

  /** Starts or stops a user if it is time to. The times do not depend on when the timer fired. */
  #changeOne(now: number): boolean {
    if (this.#planned === this.#wanted || this.#nextChangeAt > now) return false;
    this.#lastChangeAt = this.#nextChangeAt;
    this.#nextChangeAt += this.#spawnGapMs;
    if (this.#planned < this.#wanted) this.#spawn(this.#planned++);
    else this.#drop(--this.#planned);
    return true;
  }

  #wakeOne(now: number): boolean {
    const at = this.#waiting.earliest;
    if (at > now) return false;
    this.#waiting.take().wake(at);
    return true;
  }

  #spawn(index: number): void {
    const { share, work, clock, waitTime, seed } = this.#options;
    if (index % share.count !== share.index) return;
    const workUser = work.createUser(index);
    const user = new User({
      work: workUser,
      clock,
      waitTime: workUser.waitTime ?? waitTime,
      random: randomStream(seed, `user ${index}`),
      pauseUntil: (until) => {
        this.#waiting.add(until, user);
        if (!this.#isDeferred) this.#alarm.ringBy(until);
      },
      onStopped: () => {
        this.#present--;
        this.#reportAllStopped();
      },
    });
    this.#users.push(user);
    this.#present++;
    user.start();
  }

  #drop(index: number): void {
    const { share } = this.#options;
    if (index % share.count === share.index) this.#users.pop()?.stop();
  }

  #reportAllStopped(): void {
    if (this.#present > 0 || this.#onAllStopped === undefined) return;
    const report = this.#onAllStopped;
    this.#onAllStopped = undefined;
    report();
  }
}
