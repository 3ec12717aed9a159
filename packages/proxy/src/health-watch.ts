/**
 * Asks a backend again and again whether it is well. A backend that does not know the question counts as well
 * while it can be reached: its connection is watched anyway.
 */
import { checkHealth, type HealthState } from '@batchwise/grpc';
import type { Clock } from 'batchwise';
import type { Backend } from './backend.js';
import type { HealthCheckSettings } from './proxy-options.js';

/** One check may fail because the backend is busy with a batch. */
const FAILURES = 3;

export interface HealthWatchOptions extends HealthCheckSettings {
  readonly clock: Clock;
  readonly log: (line: string) => void;
  /** Told when the backend was found well, or not well, and it was not so before. */
  readonly onChange: () => void;
}

export class HealthWatch {
  readonly #backend: Backend;
  readonly #options: HealthWatchOptions;
  #failures = 0;
  #timer: unknown = undefined;
  #cancelCheck: (() => void) | undefined = undefined;
  #unlisten: () => void = () => {};
  #isStopped = false;

  constructor(backend: Backend, options: HealthWatchOptions) {
    this.#backend = backend;
    this.#options = options;
  }

  /** Asks at once whenever a connection was made, and then from time to time. */
  start(): void {
    const { channel } = this.#backend;
    this.#unlisten = channel.onStateChange((state) => {
      this.#failures = 0;
      this.#pause();
      if (state === 'ready') this.#check();
    });
    if (channel.state === 'ready') this.#check();
  }

  stop(): void {
    this.#isStopped = true;
    this.#unlisten();
    this.#pause();
  }

  #check(): void {
    const { service, timeoutMs, intervalMs, clock } = this.#options;
    this.#cancelCheck = checkHealth(this.#backend.channel, { service, timeoutMs }, (state) => {
      this.#cancelCheck = undefined;
      this.#found(state);
      if (this.#isStopped) return;
      this.#timer = clock.setTimer(() => this.#check(), intervalMs);
    });
  }

  /** Without a connection there is nobody to ask. */
  #pause(): void {
    this.#options.clock.clearTimer(this.#timer);
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
  }

  #found(state: HealthState | Error): void {
    if (state === 'not serving') {
      this.#isNow(false, 'it says that it is not serving');
      return;
    }
    if (state instanceof Error) {
      this.#failures += 1;
      this.#backend.metrics?.healthCheckFailed();
      if (this.#failures >= FAILURES) this.#isNow(false, `health checks fail: ${state.message}`);
      return;
    }
    this.#failures = 0;
    if (state === 'serving') this.#putBack();
    this.#isNow(true, state);
  }

  #isNow(isHealthy: boolean, why: string): void {
    const backend = this.#backend;
    if (backend.isHealthy === isHealthy) return;
    backend.isHealthy = isHealthy;
    this.#options.log(`backend ${backend.target} is ${isHealthy ? 'well again' : 'not well'}: ${why}`);
    this.#options.onChange();
  }

  #putBack(): void {
    const { ejection, target } = this.#backend;
    const { clock, log, onChange } = this.#options;
    const now = clock.now();
    if (!ejection.isEjected(now)) return;
    ejection.putBack(now);
    log(`backend ${target} is used again: its health check says that it is serving`);
    onChange();
  }
}
