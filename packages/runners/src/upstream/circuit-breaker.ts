/**
 * Keeps calls away from an upstream that does not answer: after some failures in a row nothing is sent for a while,
 * and callers are told so at once. Then it is asked whether it is well; where it cannot be asked, one call tries.
 */
import type { Clock } from 'batchwise';

export interface CircuitBreakerOptions {
  readonly clock: Clock;
  /** So many failures in a row open it. */
  readonly maxFailures: number;
  /** How long it stays open at first; twice as long each time that it was too early, up to half a minute. */
  readonly cooldownMs: number;
  /** Resolves when the upstream says that it is well. Without one, the next call has to find out. */
  readonly probe?: (() => Promise<void>) | undefined;
  readonly onChange: () => void;
}

type State = 'closed' | 'open' | 'half-open';

/** A call that was let in: what becomes of it counts only until the breaker opens. */
export interface LetIn {
  readonly opening: number;
  readonly isTrial: boolean;
}

const LONGEST_COOLDOWN_MS = 30_000;
/** Between two looks: they cost the upstream next to nothing, and one that is back is wanted soon. */
const LONGEST_LOOK_MS = 5000;

export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  #state: State = 'closed';
  #failures = 0;
  #cooldownMs: number;
  #opensAt = 0;
  #timer: unknown;
  /** Calls that try, and since when the latest does. */
  #trials = 0;
  #triedAt = Number.NEGATIVE_INFINITY;
  /** It says that it is well, and has answered no call yet: the first failure opens it again. */
  #isOnProbation = false;
  #lastError: Error | undefined;
  #isClosed = false;
  /** Which time it is that it is open: an old probe, and an old call, say nothing of a new one. */
  #openings = 0;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
    this.#cooldownMs = options.cooldownMs;
  }

  get state(): State {
    return this.#state;
  }

  /** The failure that opened it. */
  get lastError(): Error | undefined {
    return this.#lastError;
  }

  /** Whether a call may be made now. Half-open, one at a time; one more when that takes too long. */
  get letsIn(): boolean {
    if (this.#state !== 'half-open') return this.#state === 'closed';
    const { clock, cooldownMs } = this.#options;
    return this.#trials === 0 || clock.now() - this.#triedAt >= cooldownMs;
  }

  /** Until somebody may try again. */
  get retryAfterMs(): number {
    const { clock, cooldownMs } = this.#options;
    if (this.#state !== 'open') return this.#state === 'closed' ? 0 : cooldownMs;
    return Math.max(1, Math.ceil(this.#opensAt - clock.now()));
  }

  /** A call that was let in has begun: to be told with what becomes of it. */
  begin(): LetIn {
    const isTrial = this.#state === 'half-open';
    if (isTrial) {
      this.#trials += 1;
      this.#triedAt = this.#options.clock.now();
    }
    return { opening: this.#openings, isTrial };
  }

  /** It ended with an answer, whatever it was: somebody is there. */
  succeed({ opening }: LetIn): void {
    if (opening !== this.#openings) return;
    this.#failures = 0;
    this.#isOnProbation = false;
    this.#cooldownMs = this.#options.cooldownMs;
    if (this.#state === 'half-open') this.#become('closed');
  }

  /** It ended without a sign of the upstream. */
  fail({ opening }: LetIn, error: Error): void {
    if (opening !== this.#openings) return;
    this.#failures += 1;
    if (this.#state === 'half-open' || this.#isOnProbation) {
      this.#cooldownMs = Math.min(LONGEST_COOLDOWN_MS, this.#cooldownMs * 2);
      this.trip(error);
    } else if (this.#failures >= this.#options.maxFailures) this.trip(error);
  }

  /** It ended, and that says nothing: its callers had gone. */
  forget({ opening, isTrial }: LetIn): void {
    if (opening === this.#openings && isTrial && this.#state === 'half-open') this.#trials -= 1;
  }

  /** Opens it at once. */
  trip(error: Error): void {
    if (this.#isClosed || this.#state === 'open') return;
    const { clock } = this.#options;
    this.#lastError = error;
    this.#openings += 1;
    this.#opensAt = clock.now() + this.#cooldownMs;
    this.#timer = clock.setTimer(() => this.#look(), this.#cooldownMs);
    this.#become('open');
  }

  /** Looks now rather than when its time is up: there are signs that the upstream is back. */
  lookNow(): void {
    if (this.#state !== 'open' || this.#timer === undefined) return;
    this.#options.clock.clearTimer(this.#timer);
    this.#look();
  }

  close(): void {
    this.#isClosed = true;
    this.#options.clock.clearTimer(this.#timer);
  }

  #look(): void {
    const { probe, clock } = this.#options;
    this.#timer = undefined;
    if (probe === undefined) {
      this.#become('half-open');
      return;
    }
    const opening = this.#openings;
    probe().then(
      () => {
        if (this.#isClosed || opening !== this.#openings) return;
        this.#isOnProbation = true;
        this.#become('closed');
      },
      (error: Error) => {
        if (this.#isClosed || opening !== this.#openings) return;
        this.#lastError = error;
        this.#cooldownMs = Math.min(LONGEST_LOOK_MS, this.#cooldownMs * 2);
        this.#opensAt = clock.now() + this.#cooldownMs;
        this.#timer = clock.setTimer(() => this.#look(), this.#cooldownMs);
      },
    );
  }

  #become(state: State): void {
    if (state === 'closed') this.#lastError = undefined;
    if (state === 'open') this.#isOnProbation = false;
    this.#failures = 0;
    this.#trials = 0;
    this.#state = state;
    this.#options.onChange();
  }
}
