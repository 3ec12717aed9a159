/** Requests to one target. A request allocates nothing here: its record is used again. */
import type { Clock } from 'batchwise';
import type { Recorder } from '../statistics/interval.js';
import type { Outcome, Target } from '../targets/target.js';
import type { Share } from './share.js';
import { NO_RESPONSE_AT_END, type Work, type WorkUser } from './work.js';

export class TargetWork implements Work {
  readonly #target: Target;
  readonly #recorder: Recorder;
  readonly #clock: Clock;
  readonly #share: Share;
  readonly #all: TargetRequest[] = [];
  readonly #free: TargetRequest[] = [];
  readonly #user: WorkUser;
  #requestsOfUsers = 0;

  constructor(target: Target, recorder: Recorder, clock: Clock, share: Share) {
    this.#target = target;
    this.#recorder = recorder;
    this.#clock = clock;
    this.#share = share;
    // Users of a target have no state of their own: one object is enough for all of them.
    this.#user = {
      waitTime: undefined,
      start: (done) => done(),
      run: (intendedAt, done) => {
        const number = this.#requestsOfUsers++ * this.#share.count + this.#share.index;
        this.arrive(number, intendedAt, done);
      },
      stop: (done) => done(),
    };
  }

  get inFlight(): number {
    return this.#all.length - this.#free.length;
  }

  get connections(): number {
    return this.#target.connections;
  }

  prepare(): Promise<void> {
    return this.#target.prepare();
  }

  createUser(): WorkUser {
    return this.#user;
  }

  arrive(number: number, intendedAt: number, done: () => void): void {
    const request = this.#free.pop() ?? this.#newRequest();
    request.isInFlight = true;
    request.intendedAt = intendedAt;
    request.sentAt = this.#clock.now();
    request.done = done;
    this.#target.send(number, request.end);
  }

  halt(): void {}

  release(done: () => void): void {
    done();
  }

  abandon(): void {
    const now = this.#clock.now();
    for (const request of this.#all) {
      if (!request.isInFlight) continue;
      request.isInFlight = false;
      request.endedAt = now;
      this.#recorder.record(
        this.#target.name,
        { kind: 'failed', reason: NO_RESPONSE_AT_END, responseBytes: 0 },
        request,
      );
    }
    this.#all.length = 0;
    this.#free.length = 0;
  }

  close(): Promise<void> {
    return this.#target.close();
  }

  #newRequest(): TargetRequest {
    const request = new TargetRequest((outcome) => this.#end(request, outcome));
    this.#all.push(request);
    return request;
  }

  #end(request: TargetRequest, outcome: Outcome): void {
    // Given up before.
    if (!request.isInFlight) return;
    request.isInFlight = false;
    request.endedAt = this.#clock.now();
    this.#recorder.record(this.#target.name, outcome, request);
    this.#free.push(request);
    request.done();
  }
}

class TargetRequest {
  isInFlight = false;
  intendedAt = 0;
  sentAt = 0;
  endedAt = 0;
  done: () => void = () => {};
  readonly end: (outcome: Outcome) => void;

  constructor(end: (outcome: Outcome) => void) {
    this.end = end;
  }
}
