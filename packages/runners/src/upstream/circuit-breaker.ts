/**
 * Circuit breaker: after `maxFailures` consecutive failures it opens, and calls fail fast instead of going to the
 * upstream. After the cooldown a health probe decides whether it closes. Without a probe, one trial call decides
 * (half-open).
 */
import type { Clock } from 'batchwise';

export interface CircuitBreakerOptions {
  readonly clock: Clock;
  /** The number of consecutive failures that open the breaker. */
  readonly maxFailures: number;
  /** How long the breaker stays open at first. The time doubles after each failed trial, up to 30 s. */
  readonly cooldownMs: number;
  /** Resolves when the upstream is healthy. Without it, the next call is the trial. */
  readonly probe?: (() => Promise<void>) | undefined;
  readonly onChange: () => void;
}

type State = 'closed' | 'open' | 'half-open';

/** An admitted call. Its outcome counts only if the breaker has not opened since. */
export interface AdmittedCall {
  readonly opening: number;
  readonly isTrial: boolean;
}

const MAX_COOLDOWN_MS = 30_000;
/** The maximum interval between probes. Probes are cheap, and a recovered upstream should get calls soon. */
const MAX_PROBE_INTERVAL_MS = 5000;

export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  #state: State = 'closed';
  #failures = 0;
  #cooldownMs: number;
  #retryAt = 0;
  #timer: unknown;
  /** Trial calls in flight, and the start of the latest. */
  #trials = 0;
  #triedAt = Number.NEGATIVE_INFINITY;
  /** The probe succeeded, but no call has succeeded since: the first failure opens the breaker again. */
  #isOnProbation = false;
  #lastError: Error | undefined;
  #isClosed = false;
  /**
   * How often the breaker has opened. The results of probes and calls that started before the last opening are
   * ignored.
   */
  #openings = 0;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
    this.#cooldownMs = options.cooldownMs;
  }

  get state(): State {
    return this.#state;
  }

  /** The failure that opened the breaker. */
  get lastError(): Error | undefined {
    return this.#lastError;
  }

  /**
   * Whether a call is allowed now. Half-open: one trial at a time, and one more if the trial takes longer than the
   * cooldown.
   */
  get allowsCall(): boolean {
    if (this.#state !== 'half-open') return this.#state === 'closed';
    const { clock, cooldownMs } = this.#options;
    return this.#trials === 0 || clock.now() - this.#triedAt >= cooldownMs;
  }

  /** The time until the next call may be allowed. */
  get retryAfterMs(): number {
    const { clock, cooldownMs } = this.#options;
    if (this.#state !== 'open') return this.#state === 'closed' ? 0 : cooldownMs;
    return Math.max(1, Math.ceil(this.#retryAt - clock.now()));
  }

  /** Starts an admitted call. The caller reports its outcome with the returned value. */
  begin(): AdmittedCall {
    const isTrial = this.#state === 'half-open';
    if (isTrial) {
      this.#trials += 1;
      this.#triedAt = this.#options.clock.now();
    }
    return { opening: this.#openings, isTrial };
  }

  /** The upstream responded, with a result or an error. */
  succeed({ opening }: AdmittedCall): void {
    if (opening !== this.#openings) return;
    this.#failures = 0;
    this.#isOnProbation = false;
    this.#cooldownMs = this.#options.cooldownMs;
    if (this.#state === 'half-open') this.#setState('closed');
  }

  /** The upstream did not respond. */
  fail({ opening }: AdmittedCall, error: Error): void {
    if (opening !== this.#openings) return;
    this.#failures += 1;
    if (this.#state === 'half-open' || this.#isOnProbation) {
      this.#cooldownMs = Math.min(MAX_COOLDOWN_MS, this.#cooldownMs * 2);
      this.trip(error);
    } else if (this.#failures >= this.#options.maxFailures) this.trip(error);
  }

  /** The outcome says nothing about the upstream: the callers had gone. */
  forget({ opening, isTrial }: AdmittedCall): void {
    if (opening === this.#openings && isTrial && this.#state === 'half-open') this.#trials -= 1;
  }

  /** Opens the breaker immediately. */
  trip(error: Error): void {
    if (this.#isClosed || this.#state === 'open') return;
    const { clock } = this.#options;
    this.#lastError = error;
    this.#openings += 1;
    this.#retryAt = clock.now() + this.#cooldownMs;
    this.#timer = clock.setTimer(() => this.#probe(), this.#cooldownMs);
    this.#setState('open');
  }

  /** Probes before the cooldown ends, because a connection to the upstream was established. */
  probeNow(): void {
    if (this.#state !== 'open' || this.#timer === undefined) return;
    this.#options.clock.clearTimer(this.#timer);
    this.#probe();
  }

  close(): void {
    this.#isClosed = true;
    this.#options.clock.clearTimer(this.#timer);
  }

  #probe(): void {
    const { probe, clock } = this.#options;
    this.#timer = undefined;
    if (probe === undefined) {
      this.#setState('half-open');
      return;
    }
    const opening = this.#openings;
    probe().then(
      () => {
        if (this.#isClosed || opening !== this.#openings) return;
        this.#isOnProbation = true;
        this.#setState('closed');
      },
      (error: Error) => {
        if (this.#isClosed || opening !== this.#openings) return;
        this.#lastError = error;
        this.#cooldownMs = Math.min(MAX_PROBE_INTERVAL_MS, this.#cooldownMs * 2);
        this.#retryAt = clock.now() + this.#cooldownMs;
        this.#timer = clock.setTimer(() => this.#probe(), this.#cooldownMs);
      },
    );
  }

  #setState(state: State): void {
    if (state === 'closed') this.#lastError = undefined;
    if (state === 'open') this.#isOnProbation = false;
    this.#failures = 0;
    this.#trials = 0;
    this.#state = state;
    this.#options.onChange();
  }
}
