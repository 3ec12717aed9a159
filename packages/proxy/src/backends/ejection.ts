/**
 * When a backend is left out for failing, and for how long: after so many failures in a row, for a time that
 * doubles each time it happens again soon. Pure: it is told the time. That never all are left out is the
 * pool's to see to.
 */
import type { EjectionSettings } from '../options/proxy-options.js';

/** How often the time doubles at most. */
const MOST_DOUBLINGS = 5;
/** For how many times the duration it must have been well to count as never ejected. */
const FORGIVEN_AFTER = 10;

export class Ejection {
  readonly #settings: EjectionSettings | undefined;
  #failures = 0;
  #times = 0;
  #until = Number.NEGATIVE_INFINITY;

  /** Without settings nothing is ever ejected. */
  constructor(settings: EjectionSettings | undefined) {
    this.#settings = settings;
  }

  /** Until when it is left out; in the past when it is not. */
  get until(): number {
    return this.#until;
  }

  /** How many failures in a row there were. */
  get failures(): number {
    return this.#failures;
  }

  isEjected(now: number): boolean {
    return now < this.#until;
  }

  succeeded(): void {
    this.#failures = 0;
  }

  /** Returns true when this failure is the one that ejects it. */
  failed(now: number): boolean {
    this.#failures += 1;
    const settings = this.#settings;
    if (settings === undefined || this.#failures < settings.failures || this.isEjected(now)) return false;
    if (now - this.#until > FORGIVEN_AFTER * settings.durationMs) this.#times = 0;
    this.#until = now + settings.durationMs * 2 ** Math.min(this.#times, MOST_DOUBLINGS);
    this.#times += 1;
    this.#failures = 0;
    return true;
  }

  /** It was found well: back before its time. */
  putBack(now: number): void {
    this.#failures = 0;
    this.#until = Math.min(this.#until, now);
  }
}
