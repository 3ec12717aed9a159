/**
 * The peers of a runner as one backend. Each batch goes to the peer with the earliest expected completion. Peers that
 * do not respond get no batches for a while. A batch that was certainly not started is retried.
 */
import { BatchwiseError, type Clock, leastLoaded } from 'batchwise';
import type { Availability } from '../availability.js';
import type { UpstreamSettings } from '../runner-settings.js';
import type { Outcome } from './outcome.js';
import { RetryBudget } from './retry-budget.js';
import { UntilReady } from './until-ready.js';
import { UpstreamMember } from './upstream-member.js';
import type { UpstreamPeer } from './upstream-peer.js';

export interface UpstreamPoolOptions<P> {
  readonly name: string;
  /** At least one peer. */
  readonly peers: readonly P[];
  readonly settings: UpstreamSettings;
  readonly clock: Clock;
  /** Called when a peer becomes unavailable or available. */
  readonly log?: ((line: string) => void) | undefined;
}

/** Retries per call. */
const RETRY_SHARE = 0.1;

export class UpstreamPool<P extends UpstreamPeer> implements Availability {
  readonly #name: string;
  readonly #settings: UpstreamSettings;
  readonly #clock: Clock;
  readonly #log: (line: string) => void;
  readonly #members: readonly UpstreamMember<P>[];
  readonly #budget = new RetryBudget(RETRY_SHARE);
  readonly #listeners = new Set<() => void>();
  readonly #openMembers = new Set<UpstreamMember<P>>();
  #startup: UntilReady | undefined;
  #turn = 0;
  #isClosed = false;

  constructor({ name, peers, settings, clock, log = () => {} }: UpstreamPoolOptions<P>) {
    this.#name = name;
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
    const onChange = () => this.#changed();
    this.#members = peers.map((peer) => new UpstreamMember({ peer, settings, clock, onChange }));
  }

  /**
   * Waits until one peer is ready and returns it. The other peers are used as soon as they are ready. Peers that were
   * not ready by then are checked again like any unavailable peer.
   */
  async start(): Promise<P> {
    const { startTimeoutMs } = this.#settings;
    const startup = new UntilReady(this.#clock, startTimeoutMs);
    this.#startup = startup;
    const searches = this.#members.map((member) => this.#waitUntilReady(member, startup));
    let first: P;
    try {
      first = await Promise.any(searches);
    } catch (error) {
      if (this.#isClosed) throw this.#closedError();
      throw this.#notReady(error as AggregateError);
    } finally {
      startup.stop();
    }
    for (const [i, member] of this.#members.entries()) {
      searches[i]?.catch((error: Error) => {
        member.breaker.trip(error);
        this.#onStarted(member);
      });
    }
    return first;
  }

  get outage(): Error | undefined {
    return this.#members.every(({ isUnavailable }) => isUnavailable) ? this.#unavailable() : undefined;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Throws the error for the callers. */
  async run<T>(
    cost: number,
    signal: AbortSignal | undefined,
    ask: (peer: P) => Promise<Outcome<T>>,
  ): Promise<T> {
    this.#budget.earn();
    let before: UpstreamMember<P> | undefined;
    for (let left = this.#settings.retries; ; left--) {
      const member = this.#choose(cost, before);
      if (member === undefined) throw this.#unavailable();
      let outcome: Outcome<T>;
      try {
        outcome = await member.run(cost, ask);
      } catch (error) {
        throw this.callerError(error as Error);
      }
      if (outcome.kind === 'answered') return outcome.answer;
      const mayRetry = outcome.isUnseen && left > 0 && signal?.aborted !== true && !this.#isClosed;
      if (!mayRetry || !this.#budget.spend()) throw this.callerError(outcome.error);
      before = member;
    }
  }

  /** Converts an error of a peer for callers: it names the runner, not the address of the upstream. */
  callerError(error: Error): Error {
    const text = `the upstream: ${error.message}`;
    if (!(error instanceof BatchwiseError)) return new Error(text, { cause: error });
    const { code, retryAfterMs, cause } = error;
    const options = { cause, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    return new BatchwiseError(code, `${this.#name}: ${text}`, options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#startup?.stop();
    await Promise.all(this.#members.map((member) => member.close()));
  }

  async #waitUntilReady(member: UpstreamMember<P>, startup: UntilReady): Promise<P> {
    member.isStarting = true;
    const { startTimeoutMs } = this.#settings;
    const upTo = `up to ${startTimeoutMs / 1000} s`;
    await startup.wait(member.peer, (error) =>
      this.#log(`${this.#name}: waiting for the upstream ${member.peer.place}, ${upTo}: ${logReason(error)}`),
    );
    this.#onStarted(member);
    return member.peer;
  }

  #onStarted(member: UpstreamMember<P>): void {
    member.isStarting = false;
    member.watch();
    this.#changed();
  }

  /** Chooses another peer than `before` if there is one. */
  #choose(cost: number, before: UpstreamMember<P> | undefined): UpstreamMember<P> | undefined {
    const free = this.#members.filter(({ allowsCall }) => allowsCall);
    const others = free.length > 1 ? free.filter((member) => member !== before) : free;
    return leastLoaded(others, cost, this.#turn++, this.#clock.now());
  }

  #changed(): void {
    for (const member of this.#members) {
      const { breaker, peer } = member;
      const where = `${this.#name}: the upstream ${peer.place}`;
      if (breaker.state === 'open' && !this.#openMembers.has(member)) {
        this.#openMembers.add(member);
        this.#log(`${where} does not respond and gets no batches for now: ${logReason(breaker.lastError)}`);
      } else if (breaker.state === 'closed' && this.#openMembers.delete(member)) {
        this.#log(`${where} responds again.`);
      }
    }
    for (const listener of [...this.#listeners]) listener();
  }

  #unavailable(): BatchwiseError {
    if (this.#isClosed) return this.#closedError();
    let retryAfterMs = Number.POSITIVE_INFINITY;
    let cause: Error | undefined;
    for (const { breaker } of this.#members) {
      retryAfterMs = Math.min(retryAfterMs, breaker.retryAfterMs);
      cause ??= breaker.lastError;
    }
    const because = cause === undefined ? '' : ` Last error: ${cause.message}`;
    const message = `${this.#name}: the upstream does not respond.${because}`;
    return new BatchwiseError('UNAVAILABLE', message, { retryAfterMs, cause });
  }

  #notReady({ errors }: AggregateError): BatchwiseError {
    const [cause] = errors as readonly Error[];
    const { startTimeoutMs } = this.#settings;
    const places = this.#members.map(({ peer }) => peer.place).join(', ');
    const message = `${this.#name}: the upstream ${places} was not ready within ${startTimeoutMs} ms: ${logReason(cause)}`;
    return new BatchwiseError('UNAVAILABLE', message, { cause });
  }

  #closedError(): BatchwiseError {
    return new BatchwiseError('CLOSED', `${this.#name}: the upstream is closed.`);
  }
}

/** The reason for the log, with details that callers do not see. */
function logReason(error: Error | undefined): string {
  const { message = 'unknown reason', cause } = error ?? {};
  return cause instanceof Error && !message.includes(cause.message)
    ? `${message.replace(/\.$/, '')}: ${cause.message}`
    : message;
}
