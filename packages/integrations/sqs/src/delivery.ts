/**
 * The messages of one answer of SQS, kept invisible for other consumers until each is finished: their visibility time-out
 * is extended every third of it, so that one lost request does not matter.
 */
import type { Message } from '@aws-sdk/client-sqs';
import type { Clock } from 'batchwise';

export class Delivery {
  readonly #unfinished: Set<Message>;
  readonly #extend: (message: Message) => Promise<void>;
  readonly #clock: Clock;
  readonly #everyMs: number;
  #timer: unknown;
  #extension: Promise<unknown> = Promise.resolve();

  constructor(
    messages: readonly Message[],
    extend: (message: Message) => Promise<void>,
    { clock, visibilityTimeoutSeconds }: { readonly clock: Clock; readonly visibilityTimeoutSeconds: number },
  ) {
    this.#unfinished = new Set(messages);
    this.#extend = extend;
    this.#clock = clock;
    this.#everyMs = (1000 * visibilityTimeoutSeconds) / 3;
    this.#timer = clock.setTimer(this.#extendAll, this.#everyMs);
  }

  /** Resolves when no extension is on its way any more, which would undo a return of the message. */
  async finish(message: Message): Promise<void> {
    this.#unfinished.delete(message);
    if (this.#unfinished.size === 0) this.#clock.clearTimer(this.#timer);
    await this.#extension;
  }

  readonly #extendAll = (): void => {
    this.#timer = this.#clock.setTimer(this.#extendAll, this.#everyMs);
    this.#extension = Promise.all([...this.#unfinished].map((message) => this.#extend(message)));
  };
}
