/** A request to a model on its way through the batcher: the item, the sink and the ticket in one object. */
import type { BatchRecord, EnqueueOptions, Sink } from 'batchwise';
import type { Piece } from './model-batch.js';
import type { RunnerSink, RunnerTicket } from './runner.js';
import type { Tensors } from './tensor.js';

/** Lets a request that the batcher has turned out in again, in another way; undefined when it cannot. */
export type SecondChance = (request: ModelRequest, error: Error) => RunnerTicket | undefined;

export class ModelRequest implements Piece, Sink<Tensors>, RunnerTicket {
  readonly inputs: Tensors;
  readonly outputs: readonly string[] | undefined;
  readonly rows: number;
  readonly cost: number;
  readonly group: unknown;
  readonly sink: RunnerSink<Tensors>;
  readonly options: EnqueueOptions | undefined;
  readonly #secondChance: SecondChance;
  arrivedAt = 0;
  #ticket: RunnerTicket | undefined = undefined;

  constructor(
    { inputs, outputs, rows }: Piece,
    cost: number,
    group: unknown,
    sink: RunnerSink<Tensors>,
    options: EnqueueOptions | undefined,
    secondChance: SecondChance,
  ) {
    this.inputs = inputs;
    this.outputs = outputs;
    this.rows = rows;
    this.cost = cost;
    this.group = group;
    this.sink = sink;
    this.options = options;
    this.#secondChance = secondChance;
  }

  /** To be told of what the batcher's `enqueue` gave. */
  entered(ticket: RunnerTicket & { readonly arrivedAt: number }): this {
    this.arrivedAt = ticket.arrivedAt;
    this.#ticket = ticket;
    return this;
  }

  resolve(result: Tensors, { cost, size, startedAt, durationMs }: BatchRecord): void {
    // Where requests are not put together each counts as 1; it is still a batch of all its rows.
    const batchSize = size === 1 ? this.rows : cost;
    this.sink.resolve(result, { batchSize, queueMs: startedAt - this.arrivedAt, computeMs: durationMs });
  }

  reject(error: Error): void {
    const ticket = this.#secondChance(this, error);
    if (ticket === undefined) this.sink.reject(error);
    else this.#ticket = ticket;
  }

  cancel(reason?: unknown): void {
    this.#ticket?.cancel(reason);
  }
}
