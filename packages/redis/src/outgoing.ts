/** One item on its way: from a client's submit until it has its answer, or nobody waits for it any more. */
import type { BatchContext, Results } from 'batchwise';
import type { Argument } from './connection/link.js';
import type { Level } from './queue-keys.js';

export class Outgoing<I> {
  readonly item: I;
  readonly level: Level;
  /** When its caller gives up, on the client's clock; Infinity for never. */
  readonly deadline: number;
  /** Its number among all of this client's. */
  number = 0;
  payload: Argument = '';
  /** Of its payload, in characters or bytes. */
  size = 0;
  /** Its place in the stream, once it is known. */
  id: string | undefined = undefined;
  isDone = false;
  #group: OutgoingGroup | undefined = undefined;
  #index = 0;

  constructor(item: I, level: Level, deadline: number) {
    this.item = item;
    this.level = level;
    this.deadline = deadline;
  }

  join(group: OutgoingGroup, index: number): void {
    this.#group = group;
    this.#index = index;
  }

  /** Its answer has come: a result, or an error that is its own. The first one counts. */
  answer(result: unknown): void {
    if (this.isDone) return;
    this.isDone = true;
    this.#group?.answer(this.#index, result);
  }

  /** Nobody waits for it any more. */
  leave(): void {
    if (this.isDone) return;
    this.isDone = true;
    this.#group?.oneLess();
  }
}

/** Those that were submitted in one turn: one batch of the client's own batcher, which ends with its last item. */
export class OutgoingGroup {
  readonly #context: BatchContext;
  readonly #end: (results: Results<never>) => void;
  #left: number;

  constructor(size: number, context: BatchContext, end: (results: Results<never>) => void) {
    this.#left = size;
    this.#context = context;
    this.#end = end;
  }

  answer(index: number, result: unknown): void {
    this.#context.answer(index, result);
    this.oneLess();
  }

  oneLess(): void {
    this.#left -= 1;
    if (this.#left === 0) this.#end(this.#context.answered);
  }
}
