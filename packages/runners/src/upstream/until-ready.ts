/** Asks upstreams again and again whether they are ready, until they are or it is over. */
import type { Clock } from 'batchwise';
import { CHECK_TIMEOUT_MS } from './upstream-member.js';
import type { UpstreamPeer } from './upstream-peer.js';

/** Between two questions. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
/** Before which pause it is told: an upstream that starts together with its callers is about to be there before. */
const TELL_AT_MS = 800;

export class UntilReady {
  readonly #clock: Clock;
  readonly #giveUpAt: number;
  /** Ends a pause. */
  readonly #wakers = new Set<() => void>();
  #isOver = false;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#giveUpAt = clock.now() + timeoutMs;
  }

  /** Rejects with what was said last. `onNotReady` is told once why it takes a while. A question that is under way when it is stopped is still answered. */
  async wait(
    peer: Pick<UpstreamPeer, 'checkReady'>,
    onNotReady: (error: Error) => void = () => {},
  ): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs)) {
      try {
        const leftMs = this.#giveUpAt - this.#clock.now();
        await peer.checkReady?.(Math.max(1, Math.min(CHECK_TIMEOUT_MS, leftMs)));
        return;
      } catch (error) {
        if (this.#isOver || this.#clock.now() + pauseMs > this.#giveUpAt) throw error;
        if (pauseMs === TELL_AT_MS) onNotReady(error as Error);
        await this.#pause(pauseMs);
        if (this.#isOver || this.#clock.now() >= this.#giveUpAt) throw error;
      }
    }
  }

  stop(): void {
    this.#isOver = true;
    for (const wake of [...this.#wakers]) wake();
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#clock.clearTimer(timer);
        this.#wakers.delete(wake);
        resolve();
      };
      const timer = this.#clock.setTimer(wake, ms);
      this.#wakers.add(wake);
    });
  }
}
