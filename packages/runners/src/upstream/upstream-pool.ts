/**
 * The peers of a runner as one backend: each batch goes to the one that is expected to be done with it first, those
 * that do not answer are left alone for a while, and what was certainly not begun is sent once more.
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
  /** At least one. */
  readonly peers: readonly P[];
  readonly settings: UpstreamSettings;
  readonly clock: Clock;
  /** Told when peers go and come back. */
  readonly log?: ((line: string) => void) | undefined;
}

/** Retries a call. */
const RETRY_SHARE = 0.1;

export class UpstreamPool<P extends UpstreamPeer> implements Availability {
  readonly #name: string;
  readonly #settings: UpstreamSettings;
  readonly #clock: Clock;
  readonly #log: (line: string) => void;
  readonly #members: readonly UpstreamMember<P>[];
  readonly #budget = new RetryBudget(RETRY_SHARE);
  readonly #listeners = new Set<() => void>();
  readonly #away = new Set<UpstreamMember<P>>();
  #search: UntilReady | undefined;
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
   * Waits until one of them is ready, and gives it. The others are used as soon as they say that they are; those that
   * have said that they are not, by then, are asked again like any that has gone.
   */
  async start(): Promise<P> {
    const { startTimeoutMs } = this.#settings;
    const search = new UntilReady(this.#clock, startTimeoutMs);
    this.#search = search;
    const searches = this.#members.map((member) => this.#find(member, search));
    let first: P;
    try {
      first = await Promise.any(searches);
    } catch (error) {
      if (this.#isClosed) throw this.#closedError();
      throw this.#notReady(error as AggregateError);
    } finally {
      search.stop();
    }
    for (const [i, member] of this.#members.entries()) {
      searches[i]?.catch((error: Error) => {
        member.breaker.trip(error);
        this.#found(member);
      });
    }
    return first;
  }

  get outage(): Error | undefined {
    return this.#members.every(({ isAway }) => isAway) ? this.#unavailable() : undefined;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Throws what the callers are to be told. */
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
        throw this.told(error as Error);
      }
      if (outcome.kind === 'answered') return outcome.answer;
      const isAgain = outcome.isUnseen && left > 0 && signal?.aborted !== true && !this.#isClosed;
      if (!isAgain || !this.#budget.spend()) throw this.told(outcome.error);
      before = member;
    }
  }

  /** An error of a peer as callers are told: they know the runner, and not where its batches run. */
  told(error: Error): Error {
    const text = `the upstream: ${error.message}`;
    if (!(error instanceof BatchwiseError)) return new Error(text, { cause: error });
    const { code, retryAfterMs, cause } = error;
    const options = { cause, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    return new BatchwiseError(code, `${this.#name}: ${text}`, options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#search?.stop();
    await Promise.all(this.#members.map((member) => member.close()));
  }

  async #find(member: UpstreamMember<P>, search: UntilReady): Promise<P> {
    member.isAwaited = true;
    const { startTimeoutMs } = this.#settings;
    const upTo = `up to ${startTimeoutMs / 1000} s`;
    await search.wait(member.peer, (error) =>
      this.#log(`${this.#name}: waiting for the upstream ${member.peer.place}, ${upTo}: ${reasonOf(error)}`),
    );
    this.#found(member);
    return member.peer;
  }

  #found(member: UpstreamMember<P>): void {
    member.isAwaited = false;
    member.watch();
    this.#changed();
  }

  /** Another than `before` where there is one. */
  #choose(cost: number, before: UpstreamMember<P> | undefined): UpstreamMember<P> | undefined {
    const free = this.#members.filter(({ letsIn }) => letsIn);
    const others = free.length > 1 ? free.filter((member) => member !== before) : free;
    return leastLoaded(others, cost, this.#turn++, this.#clock.now());
  }

  #changed(): void {
    for (const member of this.#members) {
      const { breaker, peer } = member;
      const where = `${this.#name}: the upstream ${peer.place}`;
      if (breaker.state === 'open' && !this.#away.has(member)) {
        this.#away.add(member);
        this.#log(`${where} does not answer and is left alone: ${reasonOf(breaker.lastError)}`);
      } else if (breaker.state === 'closed' && this.#away.delete(member)) {
        this.#log(`${where} answers again.`);
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
    const because = cause === undefined ? '' : ` Lately: ${cause.message}`;
    const message = `${this.#name}: the upstream does not answer.${because}`;
    return new BatchwiseError('UNAVAILABLE', message, { retryAfterMs, cause });
  }

  #notReady({ errors }: AggregateError): BatchwiseError {
    const [cause] = errors as readonly Error[];
    const { startTimeoutMs } = this.#settings;
    const places = this.#members.map(({ peer }) => peer.place).join(', ');
    const message = `${this.#name}: the upstream ${places} was not ready within ${startTimeoutMs} ms: ${reasonOf(cause)}`;
    return new BatchwiseError('UNAVAILABLE', message, { cause });
  }

  #closedError(): BatchwiseError {
    return new BatchwiseError('CLOSED', `${this.#name}: the upstream is closed.`);
  }
}

/** For the log, with what callers are not told. */
function reasonOf(error: Error | undefined): string {
  const { message = 'it is not there', cause } = error ?? {};
  return cause instanceof Error && !message.includes(cause.message)
    ? `${message.replace(/\.$/, '')}: ${cause.message}`
    : message;
}
