import type { Clock } from 'batchwise';
import { unreferenced } from './expiry-line.js';

/** A connection of HTTP/2, as a server or as a client has it. */
export interface Pingable {
  readonly destroyed: boolean;
  /** Calls back with null when the peer has answered. */
  ping(callback: (error: Error | null) => void): unknown;
}

export interface KeepaliveOptions {
  readonly clock: Clock;
  /**
   * A peer that falls silent is pinged after this time, once: one that vanished without a word is found soon.
   */
  readonly quietMs?: number | undefined;
  /** A peer that stays silent is pinged at this interval. */
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Whether a ping is due at all; a client without calls does not ping. */
  isWanted(): boolean;
  onDead(): void;
}

/** Pings a peer that is silent, and tells when it does not answer. One timer a connection. */
export class Keepalive {
  readonly #session: Pingable;
  readonly #options: KeepaliveOptions;
  readonly #quietMs: number;
  #heardAt: number;
  #timer: unknown;
  #state: 'active' | 'silent' | 'pinging' | 'stopped' = 'active';

  constructor(session: Pingable, options: KeepaliveOptions) {
    this.#session = session;
    this.#options = options;
    this.#quietMs = Math.min(options.quietMs ?? options.intervalMs, options.intervalMs);
    this.#heardAt = options.clock.now();
    this.#wait(this.#quietMs);
  }

  /** Something came from the peer. */
  heard(): void {
    this.#heardAt = this.#options.clock.now();
    if (this.#state !== 'silent') return;
    this.#state = 'active';
    this.#wait(this.#quietMs);
  }

  /** Pings at once, unless one is on its way. */
  probe(): void {
    if (this.#state === 'active' || this.#state === 'silent') this.#ping();
  }

  stop(): void {
    this.#state = 'stopped';
    this.#clearTimer();
  }

  #wait(delayMs: number): void {
    this.#setTimer(() => this.#due(), delayMs);
  }

  #due(): void {
    const { clock, intervalMs } = this.#options;
    const allowedMs = this.#state === 'active' ? this.#quietMs : intervalMs;
    const silentMs = clock.now() - this.#heardAt;
    if (silentMs < allowedMs) this.#wait(allowedMs - silentMs);
    else if (!this.#options.isWanted()) this.#wait(allowedMs);
    else this.#ping();
  }

  #ping(): void {
    const { timeoutMs } = this.#options;
    if (this.#session.destroyed) return;
    this.#state = 'pinging';
    this.#setTimer(() => {
      this.stop();
      this.#options.onDead();
    }, timeoutMs);
    this.#session.ping((error) => {
      if (error === null && this.#state === 'pinging') this.#answered();
    });
  }

  #answered(): void {
    this.#heardAt = this.#options.clock.now();
    this.#state = 'silent';
    this.#wait(this.#options.intervalMs);
  }

  #setTimer(callback: () => void, delayMs: number): void {
    this.#clearTimer();
    this.#timer = unreferenced(this.#options.clock.setTimer(callback, delayMs));
  }

  #clearTimer(): void {
    if (this.#timer !== undefined) this.#options.clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }
}
