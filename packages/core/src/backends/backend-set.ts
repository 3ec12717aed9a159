/**
 * The backends of one batcher, or of several that share them and their slots: which backends are usable and what runs on
 * them. Each backend has a state machine (backend-health.ts); the timer and the listeners are here.
 */
import type { RunningBatch } from '../batch/running-batch.js';
import { BatchwiseError, throwUncaught } from '../errors/errors.js';
import { invalidOption, validCount, validFunction, validKeys, validMsAboveZero } from '../errors/valid.js';
import { Alarm } from '../time/alarm.js';
import { type Clock, realClock, validClock } from '../time/clock.js';
import { type Backend, SetMember, validBackend, validBackends } from './backend.js';
import type { BackendHealth, BackendState, HealthSettings } from './backend-health.js';
import { Retries } from './retries.js';
import { SlotQueue } from './slot-queue.js';

export interface BackendSetOptions {
  /**
   * How many failures in a row eject a backend. Infinity: none do.
   * @default 5
   */
  readonly maxFailures?: number | undefined;
  /**
   * How long a backend is ejected at first. Then one trial batch, or its `probe`, decides. The time doubles
   * after each trial that fails.
   * @default 1000
   */
  readonly backOffMs?: number | undefined;
  /**
   * The longest time to which doubling leads.
   * @default 30_000
   */
  readonly maxBackOffMs?: number | undefined;
  /**
   * How often an item is sent again whose batch was certainly not started. Over all batches, retries are limited
   * to a tenth, apart from trial batches and a few that are saved.
   * @default 1
   */
  readonly retries?: number | undefined;
  /**
   * While no backend is ready: `wait` until one is, or the deadline passes; `fail` with `UNAVAILABLE` at once; or
   * `try` the ejected ones, so that a health check that is wrong about all of them does not stop everything.
   * With `wait`, items fail at once while all backends are unreachable by `setHealth()`.
   * @default 'wait'
   */
  readonly whenNoneReady?: 'wait' | 'fail' | 'try' | undefined;
  /** Called when a backend is ejected because of its failures, with the time until its trial. */
  readonly onEjected?: ((id: string, backOffMs: number, error: unknown) => void) | undefined;
  /** @default the real clock, or that of the batcher that is given the backends as a list */
  readonly clock?: Clock | undefined;
}

export interface BackendStats {
  readonly id: string;
  readonly state: BackendState;
  readonly slots: number;
  /** Batches that run there now. */
  readonly running: number;
  /** Batches that were started there. */
  readonly batches: number;
  /** Batches that the backend did not start, so that their items went back to the queue. */
  readonly returned: number;
  /** Failures in a row. */
  readonly failures: number;
  readonly ejections: number;
  /** Why it is ejected; undefined while it is ready. */
  readonly error: unknown;
}

/** The outcome of a batch for the health of its backend; `forgotten` if it says nothing. */
export type BatchOutcome = 'succeeded' | 'answeredWithErrors' | 'failed' | 'forgotten';

/** A batcher that uses the set. */
export interface SetUser {
  /** Decides which of the batchers that share the set gets the next free slot: the lowest. */
  readonly slotOrder: number;
  /** A slot may be free for it. */
  slotFreed(): void;
  /** Backends were added or removed, or have changed their state. */
  backendsChanged(): void;
  /** Ends the batches that run on this backend with an error. */
  abandonBatches(member: SetMember, error: BatchwiseError): void;
}

const OPTIONS = [
  'maxFailures',
  'backOffMs',
  'maxBackOffMs',
  'retries',
  'whenNoneReady',
  'onEjected',
  'clock',
];
/** Shortest delay of the timer: because of rounding it may ring just before a retry is due. */
const MIN_DELAY_MS = 1;
const NONE_READY = ['wait', 'fail', 'try'];
/** The longest back-off between probes. */
const MAX_PROBE_BACK_OFF_MS = 5000;

// biome-ignore lint/suspicious/noExplicitAny: see SetMember
export class BackendSet<I = any, R = any> {
  readonly whenNoneReady: 'wait' | 'fail' | 'try';
  readonly retries: Retries;

  readonly #clock: Clock;
  readonly #onEjected: ((id: string, backOffMs: number, error: unknown) => void) | undefined;
  readonly #health: HealthSettings;
  readonly #backends = new Map<string, SetMember<I, R>>();
  readonly #users = new Set<SetUser>();
  readonly #listeners = new Set<() => void>();
  readonly #slotQueue: SlotQueue;
  #usable: readonly SetMember<I, R>[] = [];
  readonly #alarm: Alarm;

  constructor(backends: readonly Backend<I, R>[] = [], options: BackendSetOptions = {}) {
    const given = validKeys('new BackendSet(backends, options)', options, OPTIONS) as BackendSetOptions;
    const { maxFailures = 5, backOffMs = 1000, maxBackOffMs = 30_000, retries = 1 } = given;
    const { whenNoneReady = 'wait', onEjected, clock = realClock } = given;
    this.#health = {
      maxFailures: validCount('maxFailures', maxFailures),
      backOffMs: validMsAboveZero('backOffMs', backOffMs),
      maxBackOffMs: validMsAboveZero('maxBackOffMs', maxBackOffMs),
    };
    this.retries = new Retries(retries === 0 ? 0 : validCount('retries', retries));
    if (!NONE_READY.includes(whenNoneReady))
      throw invalidOption(`whenNoneReady: expected 'wait', 'fail' or 'try', got ${String(whenNoneReady)}.`);
    this.whenNoneReady = whenNoneReady;
    this.#onEjected = onEjected === undefined ? undefined : validFunction('onEjected', onEjected);
    this.#clock = validClock('clock', clock);
    this.#alarm = new Alarm(clock, () => this.#retryDue());
    this.#slotQueue = new SlotQueue(clock, () => this.freeSlots);
    for (const backend of validBackends<I, R>(backends)) this.#insert(backend);
    this.#refresh();
  }

  /** Adds a backend. It gets batches at once, unless `health` says that it is not ready yet: see `setHealth`. */
  add(backend: Backend<I, R>, health: boolean | 'unreachable' = true): void {
    const added = this.#insert(validBackend<I, R>('backends.add(backend)', backend));
    if (health !== true) added.health.startUnhealthy(health === 'unreachable', this.#clock.now());
    this.#changed();
  }

  /** Gives it no more batches, and removes it when the last one has ended. Resolves then. */
  drain(id: string): Promise<void> {
    const backend = this.#known(id, 'drain');
    return new Promise((resolve) => {
      backend.onRemoved.push(resolve);
      backend.health.drain();
      this.#removeIfDrained(backend);
      this.#changed();
    });
  }

  /** Removes it at once. The callers of batches that run there get `UNAVAILABLE`. */
  remove(id: string): void {
    const backend = this.#known(id, 'remove');
    backend.health.drain();
    this.#delete(backend);
    this.#refresh(); // before its batches end, because their slots must not get new ones
    const error = new BatchwiseError('UNAVAILABLE', `The backend ${id} was removed.`);
    for (const user of [...this.#users]) user.abandonBatches(backend, error);
    this.#changed();
  }

  /**
   * What a health check or the transport says. `false` and `'unreachable'` eject the backend until `true`, or until
   * its `probe` succeeds; with `whenNoneReady: 'try'` unreachable ones are tried last. After `true` the first failure
   * ejects it again, if failures had ejected it.
   */
  setHealth(id: string, health: boolean | 'unreachable', reason?: unknown): void {
    const backend = this.#known(id, 'setHealth');
    if (health === true && backend.health.state === 'ready') return;
    if (health === true) backend.health.becomeHealthy();
    else backend.health.becomeUnhealthy(reason, health === 'unreachable', this.#clock.now());
    this.#changed();
  }

  /** Probes an ejected backend now, before its back-off has passed: because a connection was established, say. */
  probe(id: string): void {
    const backend = this.#known(id, 'probe');
    if (backend.health.state === 'ejected') this.#probe(backend);
  }

  /** Calls the listener when backends are added or removed, or change their state. Returns a function that removes it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Why no batch can be started; undefined while a backend is ready, or a trial is due or running. */
  get outage(): BatchwiseError | undefined {
    const now = this.#clock.now();
    if (this.#usable.length > 0) return undefined;
    let retryAt = Number.POSITIVE_INFINITY;
    let cause: unknown;
    for (const { health } of this.#backends.values()) {
      if (health.state === 'draining') continue;
      if (!health.isOut(now)) return undefined;
      retryAt = Math.min(retryAt, health.retryAt);
      cause ??= health.lastError;
    }
    const because = cause instanceof Error ? ` Last error: ${cause.message}` : '';
    const retryAfterMs = Math.max(1, Math.ceil(retryAt - now));
    return new BatchwiseError('UNAVAILABLE', `No backend is ready.${because}`, {
      cause,
      ...(retryAfterMs === Number.POSITIVE_INFINITY ? {} : { retryAfterMs }),
    });
  }

  /**
   * Whether items fail at once during an outage. Waiting for an unreachable backend is useless, and with `try` there is
   * an outage only if there is no backend at all.
   */
  get failsWhenNoneReady(): boolean {
    if (this.whenNoneReady !== 'wait') return true;
    return (
      this.#backends.size > 0 && [...this.#backends.values()].every(({ health }) => health.isUnreachable)
    );
  }

  stats(): BackendStats[] {
    return [...this.#backends.values()].map(({ id, health, slots, running, batches, returned }) => ({
      id,
      state: health.state,
      slots,
      running: running.length,
      batches,
      returned,
      failures: health.failures,
      ejections: health.ejections,
      error: health.state === 'ejected' ? health.lastError : undefined,
    }));
  }

  // For the batchers that use it

  /** The backends that get batches now, or would if a slot were free. */
  get usable(): readonly SetMember<I, R>[] {
    return this.#usable;
  }

  get isShared(): boolean {
    return this.#users.size > 1;
  }

  get slots(): number {
    let slots = 0;
    for (const backend of this.#usable) slots += backend.slots;
    return slots;
  }

  get freeSlots(): number {
    let free = 0;
    for (const backend of this.#usable) free += backend.freeSlots;
    return free;
  }

  get hasFreeSlot(): boolean {
    for (const backend of this.#usable) if (backend.freeSlots > 0) return true;
    return false;
  }

  attach(user: SetUser): void {
    this.#users.add(user);
    this.#refresh();
  }

  detach(user: SetUser): void {
    this.#users.delete(user);
    this.#slotQueue.dequeue(user);
    this.#setAlarm(this.#clock.now());
  }

  /** Returns true if a slot is free for the batcher and no other batcher precedes it. Otherwise it waits for one. */
  requestSlot(user: SetUser): boolean {
    return this.isShared ? this.#slotQueue.request(user) : this.hasFreeSlot;
  }

  /** The batcher has used the slot, or needs none now. */
  endRequest(user: SetUser): void {
    this.#slotQueue.dequeue(user);
  }

  started(batch: RunningBatch, member: SetMember<I, R>, now: number): void {
    member.running.push(batch);
    member.batches += 1;
    member.health.started(batch, now);
    if (batch.isTrial) this.#refresh();
    else this.retries.earn(this.slots);
  }

  ended(batch: RunningBatch, member: SetMember<I, R>, outcome: BatchOutcome, now: number): void {
    member.running.splice(member.running.indexOf(batch), 1);
    const { health } = member;
    const { error } = batch;
    const { state, ejections } = health;
    if (outcome === 'succeeded') health.succeeded(batch);
    else if (outcome === 'answeredWithErrors') {
      health.answeredWithErrors(batch, error, now);
      if (health.state === 'ready' && health.isOutlier(this.#othersReady(member)))
        health.ejectAsOutlier(error, now);
    } else if (outcome === 'failed') health.failed(batch, error, now);
    else health.forgotten(batch, now);
    if (health.ejections !== ejections) notify(() => this.#onEjected?.(member.id, health.backOffMs, error));
    this.#removeIfDrained(member);
    if (batch.isTrial || health.state !== state || health.ejections !== ejections) this.#changed();
    this.#slotQueue.wake();
  }

  /** The id of a draining backend may be used by a new one. */
  #insert(backend: Backend<I, R>): SetMember<I, R> {
    const known = this.#backends.get(backend.id);
    if (known !== undefined && known.health.state !== 'draining')
      throw invalidOption(`backends: there are two with the id ${JSON.stringify(backend.id)}.`);
    const added = new SetMember(backend, this.#health);
    this.#backends.set(backend.id, added);
    return added;
  }

  #known(id: string, method: string): SetMember<I, R> {
    const backend = this.#backends.get(id);
    if (backend !== undefined) return backend;
    const known = [...this.#backends.keys()].join(', ') || 'none';
    throw invalidOption(
      `backends.${method}(id): there is no backend ${JSON.stringify(id)}. Known are ${known}.`,
    );
  }

  #othersReady(backend: SetMember<I, R>): BackendHealth[] {
    const others = [...this.#backends.values()].filter((other) => other !== backend);
    return others.map(({ health }) => health).filter(({ state }) => state === 'ready');
  }

  #removeIfDrained(backend: SetMember<I, R>): void {
    if (backend.health.state === 'draining' && backend.running.length === 0) this.#delete(backend);
  }

  #delete(backend: SetMember<I, R>): void {
    backend.isRemoved = true;
    if (this.#backends.get(backend.id) === backend) this.#backends.delete(backend.id);
    for (const resolve of backend.onRemoved.splice(0)) resolve();
  }

  #changed(): void {
    this.#refresh();
    for (const user of [...this.#users]) user.backendsChanged();
    for (const listener of [...this.#listeners]) notify(listener);
    this.#slotQueue.wake();
  }

  /** Updates which backends are usable. */
  #refresh(): void {
    const now = this.#clock.now();
    const all = [...this.#backends.values()];
    for (const backend of all) {
      const { health } = backend;
      backend.isTrialDue = health.isTrialDue(now);
      backend.isUsable = health.state === 'ready' || backend.isTrialDue;
    }
    if (this.whenNoneReady === 'try' && !all.some(({ isUsable }) => isUsable)) this.#useEjected(all);
    this.#usable = all.filter(({ isUsable }) => isUsable);
    this.#setAlarm(now);
  }

  #useEjected(all: readonly SetMember<I, R>[]): void {
    const ejected = all.filter(({ health }) => health.state === 'ejected');
    const reachable = ejected.filter(({ health }) => !health.isUnreachable);
    for (const backend of reachable.length > 0 ? reachable : ejected) backend.isUsable = true;
  }

  /** One timer for the next trial or probe, while a batcher uses the set. */
  #setAlarm(now: number): void {
    this.#alarm.clear();
    if (this.#users.size === 0) return;
    let at = Number.POSITIVE_INFINITY;
    for (const { health, isTrialDue, isProbing } of this.#backends.values()) {
      if (health.state === 'ejected' && !isTrialDue && !isProbing) at = Math.min(at, health.retryAt);
    }
    this.#alarm.ringBy(Math.max(at, now + MIN_DELAY_MS), now);
  }

  #retryDue(): void {
    const now = this.#clock.now();
    for (const backend of this.#backends.values()) if (backend.health.isProbeDue(now)) this.#probe(backend);
    this.#changed();
  }

  #probe(backend: SetMember<I, R>): void {
    const { health, probe } = backend;
    if (probe === undefined || backend.isProbing) return;
    backend.isProbing = true;
    const { ejections } = health;
    const done = (succeeded: boolean, error: unknown): void => {
      backend.isProbing = false;
      if (health.state === 'ejected' && health.ejections === ejections) {
        if (succeeded) health.becomeHealthy();
        else health.probeFailed(error, MAX_PROBE_BACK_OFF_MS, this.#clock.now());
      }
      this.#changed();
    };
    new Promise((resolve) => resolve(probe())).then(
      () => done(true, undefined),
      (error: unknown) => done(false, error),
    );
  }
}

/** A listener that throws must not stop the batchers, which have slots to free and callers to settle. */
function notify(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    throwUncaught(error);
  }
}
