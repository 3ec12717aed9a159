/**
 * Notices a connection that is dead without a word: commands are under way and nothing comes back. The socket's own
 * time-out would not do: what is written counts for it as a sign of life.
 */
import type { Clock } from 'batchwise';
import type { Argument } from './link.js';

/** After a pause of this process replies may lie unread in the socket: they get a moment to be read, a tenth of the time-out. */
const SECOND_LOOK = 0.1;
const MOST_SECOND_LOOK_MS = 500;

export class SilenceWatch {
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #onSilence: (error: Error) => void;
  #underWay = 0;
  /** How long one of the commands under way may be silent. */
  #allowedMs = 0;
  /** When the last reply came, or the first command was sent. */
  #since = 0;
  #timer: unknown;

  /** `silenceMs`: how long Redis may take to reply. */
  constructor(clock: Clock, silenceMs: number, onSilence: (error: Error) => void) {
    this.#clock = clock;
    this.#silenceMs = silenceMs;
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
    // A read is made to block for half of the time at most (see `shortened`): so it is noticed within the whole, too.
    const allowedMs = Math.max(this.#silenceMs, blockingMs + this.#silenceMs / 2);
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
    else if (suspectSince !== this.#since)
      this.#lookIn(Math.min(SECOND_LOOK * this.#silenceMs, MOST_SECOND_LOOK_MS), this.#since);
    else this.#onSilence(new Error(`no reply within ${this.#allowedMs / 1000} s`));
  }
}

/** The same read, made to block for this long at most: it returns `null` earlier. One without end stays as it is. */
export function shortened(command: readonly Argument[], longestMs: number): readonly Argument[] {
  const ms = blockingMs(command);
  if (ms <= longestMs || ms === Number.POSITIVE_INFINITY) return command;
  return command.toSpliced(blockArgument(command) as number, 1, String(Math.max(1, Math.floor(longestMs))));
}

/** How long Redis may hold this command back: what stands behind BLOCK; 0 there is for ever. */
export function blockingMs(command: readonly Argument[]): number {
  const at = blockArgument(command);
  if (at === undefined) return 0;
  const ms = Number(command[at]);
  return ms === 0 ? Number.POSITIVE_INFINITY : ms;
}

/** Where in the command stands how long it blocks. */
function blockArgument(command: readonly Argument[]): number | undefined {
  const name = command[0];
  if (typeof name !== 'string' || !/^XREAD(GROUP)?$/i.test(name)) return undefined;
  for (let i = 1; i + 1 < command.length; i++) {
    const word = command[i];
    if (typeof word !== 'string') continue;
    // Keys come behind it, and one may be called "block".
    if (/^STREAMS$/i.test(word)) return undefined;
    if (/^GROUP$/i.test(word)) i += 2;
    else if (/^BLOCK$/i.test(word)) return i + 1;
  }
  return undefined;
}
