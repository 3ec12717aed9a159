/**
 * Checks the health of a backend periodically. A backend without the health service counts as healthy while it is connected.
 */
import { checkHealth, type HealthState } from '@batchwise/grpc';
import type { Clock } from 'batchwise';
import type { HealthCheckSettings } from '../options/proxy-options.js';
import type { Backend } from './backend.js';

/** Consecutive failed checks: a single one may fail because a batch keeps the backend busy. */
const MAX_FAILURES = 3;

export interface HealthWatchOptions extends HealthCheckSettings {
  readonly clock: Clock;
  readonly log: (line: string) => void;
  /** Called when the health of the backend changes, and after each check that reports serving, which ends an ejection. */
  readonly onHealth: (isHealthy: boolean) => void;
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

  /** Checks after each new connection, and then periodically. */
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
      this.#checked(state);
      if (this.#isStopped) return;
      this.#timer = clock.setTimer(() => this.#check(), intervalMs);
    });
  }

  /** No checks without a connection. */
  #pause(): void {
    this.#options.clock.clearTimer(this.#timer);
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
  }

  #checked(state: HealthState | Error): void {
    if (state === 'not serving') {
      this.#setHealthy(false, 'its health check reports not serving');
      return;
    }
    if (state instanceof Error) {
      this.#failures += 1;
      this.#backend.metrics?.healthCheckFailed();
      if (this.#failures >= MAX_FAILURES) this.#setHealthy(false, `health checks fail: ${state.message}`);
      return;
    }
    this.#failures = 0;
    this.#setHealthy(true, state, state === 'serving');
  }

  #setHealthy(isHealthy: boolean, reason: string, endsEjection = false): void {
    const { target, isHealthy: wasHealthy } = this.#backend;
    const isChange = isHealthy !== wasHealthy;
    if (isChange) this.#options.log(`backend ${target} is ${isHealthy ? 'healthy' : 'unhealthy'}: ${reason}`);
    if (isChange || endsEjection) this.#options.onHealth(isHealthy);
  }
}
