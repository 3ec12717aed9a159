/** Polls upstreams until they are ready or the deadline is exceeded. */
import type { Clock } from 'batchwise';
import type { UpstreamPeer } from './upstream-peer.js';

/** The timeout of a readiness check. */
export const CHECK_TIMEOUT_MS = 5000;
/** The delay between polls. */
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;
/**
 * The log line is written before the pause of this length, so that an upstream that starts together with its callers
 * causes none.
 */
const LOG_AT_MS = 800;

export class UntilReady {
  readonly #clock: Clock;
  readonly #deadline: number;
  /** The functions that end the current pauses. */
  readonly #pauses = new Set<() => void>();
  #isOver = false;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#deadline = clock.now() + timeoutMs;
  }

  /**
   * Rejects with the last error. `onNotReady` is called once if the upstream is not ready soon. A poll in flight
   * still completes after `stop()`.
   */
  async wait(
    peer: Pick<UpstreamPeer, 'checkReady'>,
    onNotReady: (error: Error) => void = () => {},
  ): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, 2 * pauseMs)) {
      try {
        const leftMs = this.#deadline - this.#clock.now();
        await peer.checkReady?.(Math.max(1, Math.min(CHECK_TIMEOUT_MS, leftMs)));
        return;
      } catch (error) {
        if (this.#isOver || this.#clock.now() + pauseMs > this.#deadline) throw error;
        if (pauseMs === LOG_AT_MS) onNotReady(error as Error);
        await this.#pause(pauseMs);
        if (this.#isOver || this.#clock.now() >= this.#deadline) throw error;
      }
    }
  }

  stop(): void {
    this.#isOver = true;
    for (const wake of [...this.#pauses]) wake();
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#clock.clearTimer(timer);
        this.#pauses.delete(wake);
        resolve();
      };
      const timer = this.#clock.setTimer(wake, ms);
      this.#pauses.add(wake);
    });
  }
}
