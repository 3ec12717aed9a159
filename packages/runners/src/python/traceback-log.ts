/** Writes the tracebacks of a model to the log, where their batches fail: their callers may have been cancelled, or be on another machine. */
import type { Clock } from 'batchwise';

/** A batch that is bisected, and each batch with a faulty item after it, raise the same exception again. */
const REPEAT_MS = 1000;

export class TracebackLog {
  readonly #log: (line: string) => void;
  readonly #clock: Clock;
  #last: string | undefined = undefined;
  #loggedAt = 0;

  constructor(log: (line: string) => void, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Writes it line by line. The traceback that was written last is written again after a second. */
  write(traceback: string): void {
    const now = this.#clock.now();
    if (traceback === this.#last && now - this.#loggedAt < REPEAT_MS) return;
    this.#last = traceback;
    this.#loggedAt = now;
    for (const line of traceback.trimEnd().split('\n')) this.#log(line);
  }
}
