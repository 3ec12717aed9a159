/**
 * The backends, and who gets which: permits for batches, so that no backend has more than it may at a time, over
 * all methods; the least busy one for calls that are passed through. Backends may come and go meanwhile.
 */
import { type GrpcError, STATUS } from '@batchwise/grpc';
import type { Clock } from 'batchwise';
import { backendError } from '../grpc-errors.js';
import { Backend, type BackendOptions } from './backend.js';
import { chooseForBatch, chooseForCall, usableOf } from './choose-backend.js';
import type { ResolvedTarget } from './targets.js';
import { type WaitingBatch, worthWaitingMs } from './worth-waiting.js';

export interface BackendPoolOptions extends BackendOptions {
  readonly maxBatchesInFlight: number;
  readonly clock: Clock;
  readonly log: (line: string) => void;
  /** Told when more or fewer batches may be under way than before. */
  readonly onCapacity: (batches: number) => void;
  /** Told when a permit is free that nobody was waiting for. */
  readonly onFreePermit: () => void;
  /** Told when something about a backend has changed. */
  readonly onUpdate: () => void;
  /** Told of backends that come, to watch them until the function that is returned is called. */
  readonly onBackend: (backend: Backend) => () => void;
}

/** A batch that waits for a backend. */
interface Waiter {
  readonly size: number;
  readonly avoid: Backend | undefined;
  readonly granted: (backend: Backend | undefined) => void;
}

export class BackendPool {
  readonly #options: BackendPoolOptions;
  #backends: readonly Backend[] = [];
  /** Those that are chosen from, until something changes. */
  #usable: readonly Backend[] = [];
  readonly #leaving = new Set<Backend>();
  /** How to stop watching each. */
  readonly #watches = new Map<Backend, () => void>();
  /** In the order of their coming. */
  readonly #waiters = new Set<Waiter>();
  #turn = 0;
  #capacity = 0;
  #whyDown: string | undefined = undefined;
  #lookupError: Error | undefined = undefined;
  #ejectionTimer: unknown = undefined;
  #tried: () => void = () => {};
  #isClosed = false;

  constructor(options: BackendPoolOptions) {
    this.#options = options;
  }

  get backends(): readonly Backend[] {
    return this.#backends;
  }

  /** How many batches may be under way at a time. */
  get capacity(): number {
    return Math.max(1, this.#capacity);
  }

  /** What clients are told while no call can be made at all; undefined as long as one may go well. */
  get down(): GrpcError | undefined {
    return this.#whyDown === undefined ? undefined : DOWN;
  }

  /** Why, for the operator. */
  get whyDown(): string | undefined {
    return this.#whyDown;
  }

  /** How many streams may be passed through at a time, by what the backends allow. */
  get passCapacity(): number {
    let capacity = 0;
    for (const { passCapacity } of this.#usable) capacity += passCapacity;
    return capacity;
  }

  /** Whether a backend is there that nothing speaks against. */
  get isReady(): boolean {
    const now = this.#options.clock.now();
    return this.#usable.some((backend) => backend.standing(now) === 'ready');
  }

  /** Resolves when a backend is ready, when none can be reached, or after so long. */
  whenTried(patienceMs: number): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const timer = clock.setTimer(() => this.#tried(), patienceMs);
      this.#tried = () => {
        clock.clearTimer(timer);
        resolve();
      };
      this.#tellIfTried();
    });
  }

  /** How many batches may leave now; any number when there is no backend at all: what waits is to hear of it. */
  get freePermits(): number {
    if (this.#usable.length === 0) return Number.POSITIVE_INFINITY;
    let free = 0;
    for (const { running } of this.#usable) {
      free += Math.max(0, this.#options.maxBatchesInFlight - running.size);
    }
    return Math.max(0, free - this.#waiters.size);
  }

  /** For how long a batch should rather wait for a backend that is busy than leave for one that is free. */
  worthWaitingMs(batch: WaitingBatch, now: number): number {
    if (this.#usable.length < 2) return 0;
    const { maxBatchesInFlight } = this.#options;
    const isFree = ({ running }: Backend) => running.size < maxBatchesInFlight;
    const busy = this.#usable.filter((backend) => !isFree(backend));
    return busy.length === 0 ? 0 : worthWaitingMs(this.#usable.filter(isFree), busy, batch, now);
  }

  /** From now on these are the backends. Those that are no longer among them finish what they have. */
  setTargets(targets: readonly ResolvedTarget[], lookupError?: Error): void {
    if (this.#isClosed) return;
    const known = new Map(this.#backends.map((backend) => [backend.target, backend]));
    const wanted = new Map(targets.map((resolved) => [resolved.target, resolved]));
    this.#lookupError = lookupError;
    this.#backends = [...wanted.values()].map(
      (resolved) => known.get(resolved.target) ?? this.#add(resolved),
    );
    for (const [target, backend] of known) if (!wanted.has(target)) this.#remove(backend);
    this.update();
  }

  /** Something about a backend has changed: who can be used is looked at again. */
  update(): void {
    if (this.#isClosed) return;
    const now = this.#options.clock.now();
    this.#usable = connectedOf(usableOf(this.#backends, now));
    this.#whyDown = this.#reasonDown();
    this.#wakeAtNextReturn(now);
    this.#setCapacity();
    this.#pump();
    this.#tellIfTried();
    this.#options.onUpdate();
  }

  /**
   * Finds a backend for a batch: now, or when a permit is free. `granted` gets it, undefined when there is none to
   * be had, and is called once unless the function that is returned is called before.
   */
  acquire(
    size: number,
    avoid: Backend | undefined,
    granted: (backend: Backend | undefined) => void,
  ): () => void {
    if (this.#isClosed || this.#backends.length === 0) {
      granted(undefined);
      return () => {};
    }
    const waiter: Waiter = { size, avoid, granted };
    this.#waiters.add(waiter);
    this.#grant();
    return () => {
      if (this.#waiters.delete(waiter)) this.#pump();
    };
  }

  /** A batch has left its backend: the permit is free for the next. */
  released(backend: Backend): void {
    if (this.#isClosed) return;
    if (!this.#usable.includes(backend)) this.#setCapacity();
    this.#pump();
  }

  /** The least busy backend; undefined when there is none at all. */
  forCall(): Backend | undefined {
    return chooseForCall(this.#usable, this.#turn++);
  }

  /** What to tell of a backend that a call went well or failed. */
  callEnded(backend: Backend, isFailure: boolean): void {
    if (!isFailure) {
      backend.ejection.succeeded();
      return;
    }
    const now = this.#options.clock.now();
    const { failures } = backend.ejection;
    if (!backend.ejection.failed(now)) return;
    backend.metrics?.ejected();
    const forMs = Math.round(backend.ejection.until - now);
    this.#options.log(
      `backend ${backend.target} is left out for ${forMs} ms: ${failures + 1} failures in a row`,
    );
    this.update();
  }

  /** Ends everything there is; who waits is told. */
  destroy(): void {
    const all = [...this.#backends, ...this.#leaving];
    this.#isClosed = true;
    this.#options.clock.clearTimer(this.#ejectionTimer);
    for (const unwatch of this.#watches.values()) unwatch();
    this.#watches.clear();
    for (const { granted } of [...this.#waiters]) granted(undefined);
    this.#waiters.clear();
    for (const backend of all) backend.destroy();
    this.#tried();
  }

  #add(resolved: ResolvedTarget): Backend {
    const backend = new Backend(resolved, this.#options);
    backend.channel.onStateChange((state) => this.#stateChanged(backend, state));
    this.#watches.set(backend, this.#options.onBackend(backend));
    backend.channel.connect();
    return backend;
  }

  #remove(backend: Backend): void {
    backend.isRemoved = true;
    this.#watches.get(backend)?.();
    this.#watches.delete(backend);
    this.#options.log(`backend ${backend.target} is no longer among the targets`);
    this.#leaving.add(backend);
    backend.close().finally(() => this.#leaving.delete(backend));
  }

  #stateChanged(backend: Backend, state: string): void {
    if (backend.isRemoved || this.#isClosed) return;
    if (state === 'failing') {
      backend.metrics?.connectionFailed();
      const reason = backend.channel.lastError?.message ?? 'the connection was lost';
      // Once, however often it is tried again.
      if (!backend.isUnreachable) this.#options.log(`backend ${backend.target} cannot be reached: ${reason}`);
      backend.isUnreachable = true;
    } else if (state === 'ready') {
      backend.isUnreachable = false;
      this.#options.log(`backend ${backend.target} is connected`);
    }
    // An idle channel would only find out at the next call that its backend is gone.
    else if (state === 'idle') backend.channel.connect();
    this.update();
  }

  /**
   * What still runs at backends that are not used any more takes no room from those that are: one that hangs
   * would otherwise hold up the others.
   */
  #setCapacity(): void {
    const { maxBatchesInFlight, onCapacity } = this.#options;
    let capacity = this.#usable.length * maxBatchesInFlight;
    for (const backend of [...this.#backends, ...this.#leaving]) {
      if (!this.#usable.includes(backend)) capacity += backend.running.size;
    }
    if (capacity === this.#capacity) return;
    this.#capacity = capacity;
    onCapacity(this.capacity);
  }

  #tellIfTried(): void {
    if (this.isReady || this.#whyDown !== undefined) this.#tried();
  }

  #pump(): void {
    this.#grant();
    if (this.freePermits > 0) this.#options.onFreePermit();
  }

  /** First come, first served. Another backend than the one to avoid is a wish: nobody waits for it. */
  #grant(): void {
    for (const waiter of this.#waiters) {
      if (this.#usable.length > 0 && !this.#hasPermit(this.#usable)) return;
      const { avoid, granted } = waiter;
      const others = avoid === undefined ? NONE : this.#usable.filter((other) => other !== avoid);
      this.#waiters.delete(waiter);
      granted(this.#choose(this.#hasPermit(others) ? others : this.#usable, waiter.size));
    }
  }

  #choose(candidates: readonly Backend[], size: number): Backend | undefined {
    const { maxBatchesInFlight, clock } = this.#options;
    return chooseForBatch(candidates, size, maxBatchesInFlight, this.#turn++, clock.now());
  }

  #hasPermit(backends: readonly Backend[]): boolean {
    const { maxBatchesInFlight } = this.#options;
    for (const { running } of backends) if (running.size < maxBatchesInFlight) return true;
    return false;
  }

  #reasonDown(): string | undefined {
    const unreachable = this.#backends.every(({ isUnreachable }) => isUnreachable);
    if (!unreachable) return undefined;
    const reasons = this.#backends.map(
      ({ target, channel }) => `${target}: ${channel.lastError?.message ?? 'the connection was lost'}`,
    );
    if (this.#lookupError !== undefined) reasons.push(this.#lookupError.message);
    const shown = reasons.slice(0, MOST_REASONS).join('; ');
    return `no backend can be reached: ${shown || 'there is none'}`;
  }

  /** One timer for all who are left out. */
  #wakeAtNextReturn(now: number): void {
    const { clock } = this.#options;
    clock.clearTimer(this.#ejectionTimer);
    this.#ejectionTimer = undefined;
    const returns = this.#backends.map(({ ejection }) => ejection.until).filter((until) => until > now);
    if (returns.length === 0) return;
    this.#ejectionTimer = clock.setTimer(() => this.update(), Math.min(...returns) - now);
  }
}

const DOWN = backendError(STATUS.UNAVAILABLE);
const MOST_REASONS = 5;
const NONE: readonly Backend[] = [];

/** Of those that are all bad, the ones that are connected: they may answer, the others cannot. */
function connectedOf(usable: readonly Backend[]): readonly Backend[] {
  const connected = usable.filter(({ channel }) => channel.state === 'ready');
  return connected.length > 0 ? connected : usable;
}
