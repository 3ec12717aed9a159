/**
 * The peers of a runner as the backends of its batcher. The core chooses a peer for each batch, ejects peers that do
 * not respond, and retries batches that were certainly not started. This class adds the start, readiness checks, lost
 * connections, the log, and errors for callers.
 */
import { BackendSet, BatchwiseError, type Clock, type ErrorCode, type Handler } from 'batchwise';
import type { Availability } from '../runner.js';
import type { UpstreamSettings } from '../runner-settings.js';
import type { Failure, Outcome } from './outcome.js';
import { CHECK_TIMEOUT_MS, UntilReady } from './until-ready.js';
import type { UpstreamPeer } from './upstream-peer.js';

export interface UpstreamBackendsOptions<P> {
  readonly name: string;
  /** At least one peer. */
  readonly peers: readonly P[];
  readonly settings: UpstreamSettings;
  /** The maximum number of concurrent batches per peer. The batcher limits the total. */
  readonly concurrency: number;
  readonly clock: Clock;
  /** Called when a peer becomes unavailable or available. */
  readonly log?: ((line: string) => void) | undefined;
}

/** A peer, and the time of its last call: a peer with recent calls needs no health check. */
interface Member<P> {
  readonly id: string;
  readonly peer: P;
  /** The first readiness check is in progress. The peer gets no batches until it ends. */
  isStarting: boolean;
  isReportedDown: boolean;
  running: number;
  usedAt: number;
  healthTimer: unknown;
}

const OUTAGES: readonly ErrorCode[] = ['UNAVAILABLE', 'DEADLINE_EXCEEDED'];

export class UpstreamBackends<P extends UpstreamPeer> implements Availability {
  readonly #name: string;
  readonly #settings: UpstreamSettings;
  readonly #clock: Clock;
  readonly #log: (line: string) => void;
  readonly #members: readonly Member<P>[];
  readonly #set: BackendSet<unknown, unknown>;
  readonly #listeners = new Set<() => void>();
  /** Errors of peers that did not respond. */
  readonly #outages = new WeakSet<object>();
  #run: Handler<unknown, unknown> = () => [];
  #startup: UntilReady | undefined;
  #isClosed = false;

  constructor({ name, peers, settings, concurrency, clock, log = () => {} }: UpstreamBackendsOptions<P>) {
    this.#name = name;
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
    this.#members = peers.map((peer, i) => ({
      id:
        peers.findIndex(({ place }) => place === peer.place) === i ? peer.place : `${peer.place} (${i + 1})`,
      peer,
      isStarting: true,
      isReportedDown: false,
      running: 0,
      usedAt: Number.NEGATIVE_INFINITY,
      healthTimer: undefined,
    }));
    const { maxFailures, cooldownMs, retries } = settings;
    const options = { maxFailures, backOffMs: cooldownMs, retries, whenNoneReady: 'fail', clock } as const;
    this.#set = new BackendSet([], options);
    for (const member of this.#members) this.#set.add(this.#backend(member, concurrency), 'unreachable');
    this.#set.onChange(() => this.#changed());
  }

  /** The backends for a batcher whose batches `run` runs; `context.backend` names the peer. */
  createBackends<I, R>(run: Handler<I, R>): BackendSet<I, R> {
    this.#run = run as Handler<unknown, unknown>;
    return this.#set as BackendSet<I, R>;
  }

  /**
   * Waits until one peer is ready and returns it. Each other peer is used as soon as it is ready, and is probed until
   * then like any unavailable peer.
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
      searches[i]?.catch((error: Error) => this.#started(member, error));
    }
    return first;
  }

  get outage(): Error | undefined {
    if (this.#isClosed) return this.#closedError();
    const { outage } = this.#set;
    if (outage === undefined) return undefined;
    const { message, cause, retryAfterMs } = outage;
    const options = { cause, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    return new BatchwiseError('UNAVAILABLE', `${this.#name}: ${message}`, options);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Calls the peer that the batcher chose; without a choice, a ready one. Throws the error for the callers. */
  async call<T>(backend: string | undefined, send: (peer: P) => Promise<Outcome<T>>): Promise<T> {
    const member = this.#members.find(({ id }) => id === (backend ?? this.#readyId()));
    if (member === undefined) throw this.outage ?? this.#closedError();
    member.running += 1;
    member.usedAt = this.#clock.now();
    let outcome: Outcome<T>;
    try {
      outcome = await send(member.peer);
    } catch (error) {
      throw this.callerError(error as Error);
    } finally {
      member.running -= 1;
      member.usedAt = this.#clock.now();
    }
    if (outcome.kind === 'answered') return outcome.answer;
    throw this.#errorOf(outcome);
  }

  /** Converts an error of a peer for callers: it names the runner, not the address of the upstream. */
  callerError(error: Error, isUnseen = false): Error {
    const text = `the upstream: ${error.message}`;
    if (!(error instanceof BatchwiseError)) return new Error(text, { cause: error });
    const { code, retryAfterMs, cause } = error;
    const options = { cause, notStarted: isUnseen, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    return new BatchwiseError(code, `${this.#name}: ${text}`, options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#startup?.stop();
    for (const { healthTimer } of this.#members) this.#clock.clearTimer(healthTimer);
    await Promise.all(this.#members.map(({ peer }) => peer.close()));
  }

  #backend(member: Member<P>, slots: number) {
    const { id, peer } = member;
    const backend = { id, slots, run: this.#runBatch };
    if (peer.checkReady === undefined) return backend;
    const probe = async () => {
      if (member.isStarting) throw new Error('it is starting');
      await peer.checkReady?.(CHECK_TIMEOUT_MS);
    };
    return { ...backend, probe };
  }

  /** A peer that responds with an error is not down: each item gets the error, which does not count as an outage. */
  readonly #runBatch: Handler<unknown, unknown> = async (items, context) => {
    try {
      return await this.#run(items, context);
    } catch (error) {
      const isResponse =
        error instanceof BatchwiseError && OUTAGES.includes(error.code) && !this.#outages.has(error);
      if (isResponse) return items.map(() => error);
      throw error;
    }
  };

  #errorOf({ error, isOutage, isUnseen }: Failure): Error {
    const isKnown = error instanceof BatchwiseError && OUTAGES.includes(error.code);
    const cause =
      isOutage && !isKnown ? new BatchwiseError('UNAVAILABLE', error.message, { cause: error }) : error;
    const thrown = this.callerError(cause, isUnseen);
    if (isOutage) this.#outages.add(thrown);
    return thrown;
  }

  #readyId(): string | undefined {
    return this.#set.stats().find(({ state }) => state === 'ready')?.id;
  }

  async #waitUntilReady(member: Member<P>, startup: UntilReady): Promise<P> {
    const { peer } = member;
    const upTo = `up to ${this.#settings.startTimeoutMs / 1000} s`;
    await startup.wait(peer, (error) =>
      this.#log(`${this.#name}: waiting for the upstream ${peer.place}, ${upTo}: ${logReason(error)}`),
    );
    this.#started(member);
    return peer;
  }

  #started(member: Member<P>, error?: Error): void {
    if (this.#isClosed) return;
    const { id, peer } = member;
    member.isStarting = false;
    this.#set.setHealth(id, error === undefined, error);
    if (error !== undefined) this.#changed();
    peer.onConnectionChange?.((lost) => {
      if (this.#isClosed) return;
      if (lost === undefined) this.#set.probe(id);
      else this.#set.setHealth(id, false, lost);
    });
    this.#scheduleHealth(member);
  }

  /** Without traffic, only a health check detects an outage. */
  #scheduleHealth(member: Member<P>): void {
    const { healthIntervalMs } = this.#settings;
    if (member.peer.checkReady === undefined || this.#isClosed || !(healthIntervalMs > 0)) return;
    member.healthTimer = this.#clock.setTimer(() => void this.#checkHealth(member), healthIntervalMs);
  }

  async #checkHealth(member: Member<P>): Promise<void> {
    const { id, peer } = member;
    const checkedAt = this.#clock.now();
    const isIdle = member.running === 0 && checkedAt - member.usedAt >= this.#settings.healthIntervalMs;
    if (isIdle && this.#stateOf(id) === 'ready') {
      try {
        await peer.checkReady?.(CHECK_TIMEOUT_MS);
      } catch (error) {
        // If calls have started meanwhile, the peer is busy, and their outcome decides.
        if (member.running === 0 && member.usedAt < checkedAt && !this.#isClosed)
          this.#set.setHealth(id, false, error);
      }
    }
    this.#scheduleHealth(member);
  }

  #stateOf(id: string): string | undefined {
    return this.#set.stats().find((backend) => backend.id === id)?.state;
  }

  #changed(): void {
    for (const { id, state, error } of this.#set.stats()) {
      const member = this.#members.find((one) => one.id === id) as Member<P>;
      const isDown = state !== 'ready' && !member.isStarting;
      if (isDown === member.isReportedDown) continue;
      member.isReportedDown = isDown;
      const where = `${this.#name}: the upstream ${member.peer.place}`;
      this.#log(
        isDown
          ? `${where} does not respond and is ejected: ${logReason(error as Error | undefined)}`
          : `${where} responds again.`,
      );
    }
    for (const listener of [...this.#listeners]) listener();
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
