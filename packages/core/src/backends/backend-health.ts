/**
 * Whether a backend gets batches: circuit breaker, ejection and trial in one state machine. Pure: every event carries
 * the time, and it sets no timer.
 *
 *     ready ── failures in a row, outlier, setHealth(false) ──▶ ejected ── back-off ──▶ one trial batch (or probe)
 *       ▲                                                          ▲                          │
 *       └───────────────── success, setHealth(true) ───────────────┼───── failure: back-off × 2 ┘
 *
 *     any state ── drain() ──▶ draining
 */

export interface HealthSettings {
  /** How many failures in a row eject a backend. */
  readonly maxFailures: number;
  /** How long it is ejected at first. */
  readonly backOffMs: number;
  /** The longest back-off to which doubling leads. */
  readonly maxBackOffMs: number;
}

export type BackendState = 'ready' | 'ejected' | 'draining';

/** A batch that was started. Its outcome counts only if the backend has not been ejected since. */
export interface StartedBatch {
  ejections: number;
  isTrial: boolean;
}

/** The error rate is averaged over about so many batches. */
const RATE_MEMORY = 20;
/** An outlier has had at least so many batches, of which more than half failed. */
const MIN_OUTCOMES = 10;
const OUTLIER_RATE = 0.5;
/** An outlier has so many times the error rate of the others. If all fail alike, the items are the cause. */
const OUTLIER_FACTOR = 3;

export class BackendHealth {
  state: BackendState = 'ready';
  /** Consecutive failures. */
  failures = 0;
  ejections = 0;
  /** Why it is ejected, or why it failed last. */
  lastError: unknown = undefined;
  /** When the next trial batch or probe is due; Infinity if only `setHealth(true)` brings the backend back. */
  retryAt = Number.NEGATIVE_INFINITY;
  /** After a failure other backends are preferred until then: the longer, the more failures in a row there were. */
  doubtfulUntil = Number.NEGATIVE_INFINITY;
  /** With `whenNoneReady: 'try'`, it is tried only if all others are unreachable, too. */
  isUnreachable = false;
  errorRate = 0;
  outcomes = 0;

  readonly #settings: HealthSettings;
  /** A probe decides after the back-off instead of a trial batch. */
  readonly #hasProbe: boolean;
  #backOffMs: number;
  #trials = 0;
  /** Ready because of a probe or a health check, and no batch has succeeded since: the first failure ejects it again. */
  #isOnProbation = false;
  /** The backend responds, but with errors: an error response in a trial is a failure. */
  #isOutlier = false;
  /** The backend was ejected because of failures, or is checked by its probe. */
  #hadFailed = false;
  /** A health check keeps it out, and only a health check brings it back. */
  #isUnhealthy = false;

  constructor(settings: HealthSettings, hasProbe = false) {
    this.#settings = settings;
    this.#hasProbe = hasProbe;
    this.#backOffMs = settings.backOffMs;
  }

  /** Whether a trial batch may start. One at a time, and one more if it takes longer than the first back-off. */
  isTrialDue(now: number): boolean {
    return this.state === 'ejected' && !this.#hasProbe && now >= this.retryAt;
  }

  isProbeDue(now: number): boolean {
    return this.state === 'ejected' && this.#hasProbe && now >= this.retryAt;
  }

  get backOffMs(): number {
    return this.#backOffMs;
  }

  /** The backend gets no batch, and no trial batch is due or running. */
  isOut(now: number): boolean {
    return this.state === 'ejected' && this.#trials === 0 && !this.isTrialDue(now);
  }

  started(batch: StartedBatch, now: number): void {
    batch.ejections = this.ejections;
    batch.isTrial = this.isTrialDue(now);
    if (!batch.isTrial) return;
    this.#trials += 1;
    this.#retryIn(this.#settings.backOffMs, now);
  }

  succeeded(batch: StartedBatch): void {
    if (!this.#counts(batch)) return;
    this.#responded(0);
  }

  /** The backend responded, but every item of the batch failed. */
  answeredWithErrors(batch: StartedBatch, error: unknown, now: number): void {
    if (!this.#counts(batch)) return;
    if (this.#isOutlier && this.state === 'ejected') this.failed(batch, error, now);
    else this.#responded(1);
  }

  /** The backend did not respond. */
  failed(batch: StartedBatch, error: unknown, now: number): void {
    if (!this.#counts(batch)) return;
    this.failures += 1;
    this.lastError = error;
    this.doubtfulUntil = now + (this.#settings.backOffMs * this.failures) / this.#settings.maxFailures;
    this.#rate(1);
    if (this.state === 'ejected' && !batch.isTrial) return; // it was tried because all others were out, too
    if (this.state === 'ejected' || this.#isOnProbation) this.#doubleBackOff(this.#settings.maxBackOffMs);
    else if (this.failures < this.#settings.maxFailures) return;
    this.eject(error, now);
  }

  /** The outcome says nothing about the backend: all callers were cancelled or expired. */
  forgotten(batch: StartedBatch, now: number): void {
    if (!this.#counts(batch) || !batch.isTrial || this.state !== 'ejected') return;
    this.#trials -= 1;
    this.#retryIn(0, now);
  }

  /** Whether its batches fail much more often than batches of the others. */
  isOutlier(others: readonly BackendHealth[]): boolean {
    if (this.#settings.maxFailures === Number.POSITIVE_INFINITY) return false;
    const known = others.filter(({ outcomes }) => outcomes >= MIN_OUTCOMES);
    if (known.length === 0 || this.outcomes < MIN_OUTCOMES || this.errorRate <= OUTLIER_RATE) return false;
    const meanRate = known.reduce((sum, { errorRate }) => sum + errorRate, 0) / known.length;
    return this.errorRate > OUTLIER_FACTOR * meanRate;
  }

  ejectAsOutlier(error: unknown, now: number): void {
    this.eject(error, now);
    this.#isOutlier = true;
  }

  /** Ejects the backend for the back-off. Outcomes of batches that run now do not count any more. */
  eject(error: unknown, now: number): void {
    if (this.state === 'draining') return;
    this.state = 'ejected';
    this.#hadFailed = true;
    this.ejections += 1;
    this.lastError = error;
    this.#forgetOutcomes();
    this.#retryIn(this.#backOffMs, now);
  }

  /** A health check or the transport reports a failure. Without a probe it is out until `becomeHealthy`. */
  becomeUnhealthy(error: unknown, isUnreachable: boolean, now: number): void {
    if (this.state === 'draining') return;
    this.isUnreachable = isUnreachable;
    this.#isUnhealthy = !this.#hasProbe;
    if (this.state === 'ready') {
      this.eject(error, now);
      this.#hadFailed = this.#hasProbe;
    } else this.#retryIn(this.retryAt - now, now);
    this.lastError = error;
  }

  /** Not ready from the start, which is no failure. */
  startUnhealthy(isUnreachable: boolean, now: number): void {
    this.becomeUnhealthy(undefined, isUnreachable, now);
    this.#hadFailed = false;
  }

  becomeHealthy(): void {
    if (this.state !== 'ejected') return;
    const hadFailed = this.#hadFailed;
    this.#becomeReady();
    this.#isOnProbation = hadFailed;
  }

  /** Probes are cheap, and a backend that has recovered should get batches soon: their back-off is shorter. */
  probeFailed(error: unknown, maxBackOffMs: number, now: number): void {
    this.#doubleBackOff(maxBackOffMs);
    this.#retryIn(this.#backOffMs, now);
    this.lastError = error;
  }

  drain(): void {
    this.state = 'draining';
  }

  #counts({ ejections }: StartedBatch): boolean {
    return ejections === this.ejections && this.state !== 'draining';
  }

  #responded(failureShare: number): void {
    this.failures = 0;
    this.#isOnProbation = false;
    this.#backOffMs = this.#settings.backOffMs;
    this.doubtfulUntil = Number.NEGATIVE_INFINITY;
    this.#rate(failureShare);
    if (this.state === 'ejected' && !this.#isUnhealthy) this.#becomeReady();
  }

  #rate(failureShare: number): void {
    this.outcomes += 1;
    this.errorRate += (failureShare - this.errorRate) / Math.min(this.outcomes, RATE_MEMORY);
  }

  #becomeReady(): void {
    this.state = 'ready';
    this.#hadFailed = false;
    this.lastError = undefined;
    this.isUnreachable = false;
    this.#isUnhealthy = false;
    this.#forgetOutcomes();
  }

  #forgetOutcomes(): void {
    this.failures = 0;
    this.#trials = 0;
    this.errorRate = 0;
    this.outcomes = 0;
    this.#isOnProbation = false;
    this.#isOutlier = false;
    this.doubtfulUntil = Number.NEGATIVE_INFINITY;
  }

  #retryIn(ms: number, now: number): void {
    this.retryAt = this.#isUnhealthy ? Number.POSITIVE_INFINITY : now + ms;
  }

  #doubleBackOff(maxMs: number): void {
    // A first back-off above the longest one stays as it is.
    this.#backOffMs = Math.max(this.#backOffMs, Math.min(maxMs, 2 * this.#backOffMs));
  }
}
