/**
 * Notices a connection that is dead without a word: commands are under way and nothing comes back. The socket's own
 * time-out would not do: what is written counts for it as a sign of life.
 */
import type { Clock } from 'batchwise';
import type { Argument } from './link.js';

/** Longer than any command that is not meant to block, also on a Redis that is busy writing to its disk. */
export const SILENCE_MS = 10_000;
/** After a pause of this process replies may lie unread in the socket: they get a moment to be read. */
const SECOND_LOOK_MS = 500;

export class SilenceWatch {
  readonly #clock: Clock;
  readonly #onSilence: (error: Error) => void;
  #underWay = 0;
  /** How long one of the commands under way may be silent. */
  #allowedMs = 0;
  /** When the last reply came, or the first command was sent. */
  #since = 0;
  #timer: unknown;

  constructor(clock: Clock, onSilence: (error: Error) => void) {
    this.#clock = clock;
    this.#onSilence = onSilence;
  }

  get underWay(): number {
    return this.#underWay;
  }

  sent(blockingMs: number): void {
    if (this.#underWay++ === 0) {
      this.#allowedMs = 0;
      this.#since = this.#clock.now();
    }
    const allowedMs = blockingMs + SILENCE_MS;
    if (allowedMs <= this.#allowedMs) return;
    this.#allowedMs = allowedMs;
    // One that is set already looks again when it fires: a timer a connection, not one a command.
    if (this.#timer === undefined && allowedMs < Number.POSITIVE_INFINITY) this.#lookIn(allowedMs);
  }

  answered(): void {
    this.#underWay--;
    this.#since = this.#clock.now();
  }

  stop(): void {
    this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  #lookIn(delayMs: number, since?: number): void {
    this.#timer = this.#clock.setTimer(() => this.#look(since), delayMs);
  }

  /** `suspectSince`: what the first look saw, when this is the second. */
  #look(suspectSince: number | undefined): void {
    this.#timer = undefined;
    if (this.#underWay === 0 || this.#allowedMs === Number.POSITIVE_INFINITY) return;

    const leftMs = this.#since + this.#allowedMs - this.#clock.now();
    if (leftMs > 0) this.#lookIn(leftMs);
    else if (suspectSince !== this.#since) this.#lookIn(SECOND_LOOK_MS, this.#since);
    else this.#onSilence(new Error(`no reply within ${this.#allowedMs / 1000} s`));
  }
}

/** How long Redis may hold this command back: what stands behind BLOCK; 0 there is for ever. */
export function blockingMs(command: readonly Argument[]): number {
  const name = command[0];
  if (typeof name !== 'string' || !/^XREAD(GROUP)?$/i.test(name)) return 0;
  for (let i = 1; i + 1 < command.length; i++) {
    const word = command[i];
    if (typeof word !== 'string') continue;
    // Keys come behind it, and one may be called "block".
    if (/^STREAMS$/i.test(word)) return 0;
    if (/^GROUP$/i.test(word)) i += 2;
    else if (/^BLOCK$/i.test(word)) {
      const ms = Number(command[i + 1]);
      return ms === 0 ? Number.POSITIVE_INFINITY : ms;
    }
  }
  return 0;
}
