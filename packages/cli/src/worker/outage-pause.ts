/**
 * Keeps a worker from its queue while its upstream or its model is unavailable: it would fail all items at once that
 * other workers can run.
 */
import type { RedisProcessor } from '@batchwise/redis';
import type { Availability } from '@batchwise/runners';

export interface OutagePauseOptions {
  /** Of the upstream, or of the processes of the model. */
  readonly availability: Availability;
  readonly processor: Pick<RedisProcessor<unknown, unknown>, 'pause' | 'resume'>;
  readonly note: (line: string) => void;
}

export class OutagePause {
  readonly #options: OutagePauseOptions;
  readonly #stop: () => void;
  /** An outage is told once, however often it is tried in vain whether it is over. */
  #isTold = false;

  constructor(options: OutagePauseOptions) {
    this.#options = options;
    this.#stop = options.availability.onChange(() => this.#look());
    this.#look();
  }

  /** To be called when items were answered: the outage is over then, and not before. */
  answered(): void {
    const { availability, note } = this.#options;
    if (!this.#isTold || availability.outage !== undefined) return;
    this.#isTold = false;
    note('Takes items from the queue again.');
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
    if (this.#isTold) return;
    this.#isTold = true;
    note('Takes nothing from the queue until its backend answers again.');
  }
}
