/** A request to a model in the batcher: item, sink and ticket in one object. */
import type { BatchRecord, EnqueueOptions } from 'batchwise';
import type { Deliveries } from './deliveries.js';
import type { Piece } from './model-batch.js';
import type { Readmission } from './readmission.js';
import type { BatchTrace, RunnerSink } from './runner.js';
import { RunnerCall } from './runner-call.js';
import type { Tensors } from './tensor.js';

export class ModelRequest extends RunnerCall<Tensors> implements Piece {
  readonly inputs: Tensors;
  readonly outputs: readonly string[] | undefined;
  readonly rows: number;
  readonly firstRow: number | undefined;
  readonly group: unknown;

  constructor(
    readmission: Readmission<Tensors>,
    deliveries: Deliveries<Tensors>,
    { inputs, outputs, rows, firstRow }: Piece,
    cost: number,
    group: unknown,
    sink: RunnerSink<Tensors>,
    options: EnqueueOptions | undefined,
  ) {
    super(readmission, deliveries, sink, options, cost);
    this.inputs = inputs;
    this.outputs = outputs;
    this.rows = rows;
    this.firstRow = firstRow;
    this.group = group;
  }

  protected traceOf({ cost, size, startedAt, durationMs }: BatchRecord): BatchTrace {
    // Without batching the cost is 1, but the batch has all rows of the request.
    const batchSize = size === 1 ? this.rows : cost;
    return { batchSize, queueMs: startedAt - this.arrivedAt, computeMs: durationMs };
  }
}
