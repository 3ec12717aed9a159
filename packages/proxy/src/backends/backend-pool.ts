/**
 * The backends of the proxy: connects to the targets and reports reachability and health to the `BackendSet` of the core.
 * The set assigns slots to all methods, ejects backends that fail, and chooses the backend of a batch.
 */
import { type ChannelState, type GrpcError, STATUS } from '@batchwise/grpc';
import { BackendSet, type Clock } from 'batchwise';
import { backendError } from '../grpc-errors.js';
import type { EjectionSettings } from '../options/proxy-options.js';
import { Backend, type BackendOptions, type RoutedItem } from './backend.js';
import type { BackendState } from './backend-metrics.js';
import type { ResolvedTarget } from './targets.js';

export interface BackendPoolOptions extends BackendOptions {
  readonly ejection: EjectionSettings | undefined;
  readonly clock: Clock;
  readonly log: (line: string) => void;
  /** Called when the state of a backend has changed. */
  readonly onUpdate: () => void;
  /** Called for each new backend. The returned function is called when the backend is removed. */
  readonly onBackend: (backend: Backend) => () => void;
}

/** The longest ejection, as a multiple of the first one. */
const MAX_EJECTION = 32;
const MAX_SHOWN_REASONS = 5;
const DOWN = backendError(STATUS.UNAVAILABLE);

export class BackendPool {
  readonly set: BackendSet<RoutedItem, Buffer>;
  readonly #options: BackendPoolOptions;
  #backends: ReadonlyMap<string, Backend> = new Map();
  /** Removed backends with open calls. */
  readonly #draining = new Set<Backend>();
  /** Backends whose ejection was logged. */
  readonly #ejectedIds = new Set<string>();
  readonly #unwatch = new Map<Backend, () => void>();
  /** Rotates the order of equal backends. */
  #nextIndex = 0;
  #lookupError: Error | undefined = undefined;
  #onTried: () => void = () => {};
  #isClosed = false;

  constructor(options: BackendPoolOptions) {
    const { clock, ejection } = options;
    this.#options = options;
    this.set = new BackendSet<RoutedItem, Buffer>([], {
      clock,
      whenNoneReady: 'try',
      onEjected: (id, backOffMs) => this.#ejected(id, backOffMs),
      ...(ejection === undefined
        ? { maxFailures: Number.POSITIVE_INFINITY }
        : {
            maxFailures: ejection.failures,
            backOffMs: ejection.durationMs,
            maxBackOffMs: MAX_EJECTION * ejection.durationMs,
          }),
    });
    this.set.onChange(() => this.#changed());
  }

  get backends(): readonly Backend[] {
    return [...this.#backends.values()];
  }

  /** The error for callers while no backend can be reached. */
  get down(): GrpcError | undefined {
    return this.#isDown ? DOWN : undefined;
  }

  /** The reason for the log and /readyz, with addresses. */
  get whyDown(): string | undefined {
    if (!this.#isDown) return undefined;
    const reasons = this.backends.map(
      ({ target, channel }) => `${target}: ${connectionErrorOf(channel.lastError)}`,
    );
    if (this.#lookupError !== undefined) reasons.push(this.#lookupError.message);
    const shown = reasons.slice(0, MAX_SHOWN_REASONS).join('; ');
    return `no backend can be reached: ${shown || 'there are no targets'}`;
  }

  /** Whether a backend is connected, healthy and not ejected. */
  get isReady(): boolean {
    return this.set.stats().some(({ state }) => state === 'ready');
  }

  /** The maximum number of calls that are passed through, by the stream limits of the backends. */
  get passCapacity(): number {
    let capacity = 0;
    for (const { id } of this.set.usable) capacity += this.#backends.get(id)?.passCapacity ?? 0;
    return capacity;
  }

  /** The state of a backend for statistics and metrics. */
  stateOf({ id, health }: Backend): BackendState & { readonly isEjected: boolean } {
    const stats = this.set.stats().find((known) => known.id === id);
    return {
      isUp: stats?.state === 'ready',
      /** Connected and healthy, but ejected because its batches failed. */
      isEjected: stats?.state === 'ejected' && health === true,
      batchesInFlight: stats?.running ?? 0,
      batchesRetried: stats?.returned ?? 0,
    };
  }

  /** Resolves when a backend is ready, when none can be reached, or after the timeout. */
  whenTried(timeoutMs: number): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const timer = clock.setTimer(() => this.#onTried(), timeoutMs);
      this.#onTried = () => {
        clock.clearTimer(timer);
        resolve();
      };
      this.#resolveIfTried();
    });
  }

  /** Replaces the backends. Removed ones finish their batches and calls. */
  setTargets(targets: readonly ResolvedTarget[], lookupError?: Error): void {
    if (this.#isClosed) return;
    const known = this.#backends;
    const wanted = new Map(targets.map((resolved) => [resolved.target, resolved]));
    this.#lookupError = lookupError;
    this.#backends = new Map(
      [...wanted].map(([target, resolved]) => [target, known.get(target) ?? this.#add(resolved)]),
    );
    for (const [target, backend] of known) if (!wanted.has(target)) this.#remove(backend);
    this.#changed();
  }

  /** The backend for a call that is passed through: the one with the fewest batches and calls in flight. */
  forCall(): Backend | undefined {
    const { usable } = this.set;
    const first = this.#nextIndex++;
    let chosen: Backend | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < usable.length; i++) {
      const { id, running } = usable[(first + i) % usable.length] as (typeof usable)[number];
      const backend = this.#backends.get(id);
      if (backend === undefined || running.length + backend.openCalls >= fewest) continue;
      chosen = backend;
      fewest = running.length + backend.openCalls;
    }
    return chosen;
  }

  /** The result of a health check. */
  setHealthy(backend: Backend, isHealthy: boolean): void {
    backend.isHealthy = isHealthy;
    this.#updateHealth(backend);
  }

  /** Destroys all connections. */
  destroy(): void {
    const all = [...this.#backends.values(), ...this.#draining];
    this.#isClosed = true;
    for (const unwatch of this.#unwatch.values()) unwatch();
    this.#unwatch.clear();
    for (const backend of all) backend.destroy();
    this.#onTried();
  }

  get #isDown(): boolean {
    return this.backends.every(({ isUnreachable }) => isUnreachable);
  }

  #add(resolved: ResolvedTarget): Backend {
    const backend = new Backend(resolved, this.#options);
    this.set.add(backend, backend.health);
    backend.channel.onStateChange((state) => this.#stateChanged(backend, state));
    this.#unwatch.set(backend, this.#options.onBackend(backend));
    backend.channel.connect();
    return backend;
  }

  #remove(backend: Backend): void {
    this.#unwatch.get(backend)?.();
    this.#unwatch.delete(backend);
    this.#ejectedIds.delete(backend.id);
    this.#options.log(`backend ${backend.target} was removed from the targets`);
    void this.set.drain(backend.id);
    this.#draining.add(backend);
    backend.close().finally(() => this.#draining.delete(backend));
  }

  #stateChanged(backend: Backend, state: ChannelState): void {
    const { target, channel } = backend;
    if (this.#isClosed || this.#backends.get(target) !== backend) return;
    const { log } = this.#options;
    if (state === 'failing') {
      backend.metrics?.connectionFailed();
      // Logged once, not for every attempt.
      if (!backend.isUnreachable)
        log(`backend ${target} cannot be reached: ${connectionErrorOf(channel.lastError)}`);
      backend.isUnreachable = true;
    } else if (state === 'ready') {
      backend.isUnreachable = false;
      log(`backend ${target} is connected`);
    }
    // An idle channel would detect only at the next call that its backend is gone.
    else if (state === 'idle') channel.connect();
    this.#updateHealth(backend);
  }

  #updateHealth(backend: Backend): void {
    if (this.#isClosed || this.#backends.get(backend.id) !== backend) return;
    this.set.setHealth(backend.id, backend.health);
  }

  #ejected(id: string, backOffMs: number): void {
    const backend = this.#backends.get(id);
    if (backend === undefined) return;
    backend.metrics?.ejected();
    this.#ejectedIds.add(id);
    this.#options.log(`backend ${id} is ejected for ${Math.round(backOffMs)} ms because its batches fail`);
  }

  #changed(): void {
    if (this.#isClosed) return;
    for (const { id, state } of this.set.stats()) {
      if (state === 'ready' && this.#ejectedIds.delete(id))
        this.#options.log(`backend ${id} is no longer ejected`);
    }
    this.#resolveIfTried();
    this.#options.onUpdate();
  }

  #resolveIfTried(): void {
    if (this.isReady || this.#isDown) this.#onTried();
  }
}

function connectionErrorOf(error: Error | undefined): string {
  return error?.message ?? 'the connection was lost';
}
