/** One request with several items. */
import type { SubmitOptions } from '../options/call-options.js';
import type { Ticket } from '../queue/entry.js';
import type { Dispatcher } from './dispatcher.js';

export class ManyItems<I, R> {
  readonly #dispatcher: Dispatcher;
  readonly #tickets: Ticket[] = [];
  #results: R[] = [];
  #missing = 0;
  #isOver = false;

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  submit(given: readonly I[], options: SubmitOptions | undefined): Promise<R[]> {
    const items = [...given]; // user functions such as `costOf` may change the array
    if (items.length === 0) return Promise.resolve([]);
    const rejection = this.#dispatcher.intake.rejectionOf(items.length);
    if (rejection !== undefined) {
      if (rejection.code === 'QUEUE_FULL') this.#dispatcher.turn.arrived(items.length);
      this.#dispatcher.ledger.rejectMany(items.length, rejection);
      return Promise.reject(rejection);
    }
    this.#missing = items.length;
    this.#results = new Array(items.length);
    return new Promise((resolve, reject) => {
      for (const [index, item] of items.entries()) {
        if (this.#isOver) break; // an item was rejected, and the request with it
        const sink = {
          resolve: (result: R) => this.#answered(index, result, resolve),
          reject: (error: Error) => this.#failed(error, reject),
        };
        this.#tickets.push(this.#dispatcher.intake.submit(item, sink, options));
      }
      if (this.#isOver) this.#cancelRest();
    });
  }

  cancel(reason: string): void {
    for (const ticket of this.#tickets) ticket.cancel(reason);
  }

  #answered(index: number, result: R, resolve: (results: R[]) => void): void {
    this.#results[index] = result;
    this.#missing -= 1;
    if (this.#missing === 0) resolve(this.#results);
  }

  #failed(error: Error, reject: (error: Error) => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    reject(error);
    this.#cancelRest();
  }

  #cancelRest(): void {
    this.cancel('another item of the same request failed');
  }
}
