/**
 * Pauses a worker while its upstream or its model is unavailable, because it would fail items that other workers can
 * run.
 */
import type { RedisProcessor } from '@batchwise/redis';
import type { Availability } from '@batchwise/runners';

export interface OutagePauseOptions {
  /** Availability of the upstream, or of the processes of the model. */
  readonly availability: Availability;
  readonly processor: Pick<RedisProcessor<unknown, unknown>, 'pause' | 'resume'>;
  readonly note: (line: string) => void;
}

export class OutagePause {
  readonly #options: OutagePauseOptions;
  readonly #stop: () => void;
  /** An outage is logged once. */
  #isLogged = false;

  constructor(options: OutagePauseOptions) {
    this.#options = options;
    this.#stop = options.availability.onChange(() => this.#look());
    this.#look();
  }

  /** Call it when items were answered: the outage is over only then. */
  answered(): void {
    const { availability, note } = this.#options;
    if (!this.#isLogged || availability.outage !== undefined) return;
    this.#isLogged = false;
    note('Fetching items from the queue again.');
  }

  stop(): void {
    this.#stop();
  }

  #look(): void {
    const { availability, processor, note } = this.#options;
    if (availability.outage === undefined) {
      processor.resume();
      return;
    }
    void processor.pause();
    if (this.#isLogged) return;
    this.#isLogged = true;
    note('The backend is unavailable. Fetching no items from the queue until it answers.');
  }
}
