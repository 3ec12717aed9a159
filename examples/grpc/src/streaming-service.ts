/**
 * The same service with `BatchedCompute`: one run of the model per batch.
 *
 *     node examples/grpc/dist/streaming-service.js [port]
 */
import { serveBatched } from '@batchwise/proxy';
import { Server } from '@grpc/grpc-js';
import { BatchwiseError } from 'batchwise';
import { Inference, type Input, type Output } from './inference.js';
import { listen } from './listen.js';
import { FEATURES, Model } from './model.js';

const model = new Model();
const server = new Server();

const implementation = serveBatched(Inference.service, {
  /** As many results as items, in the same order. A result that is an Error fails only its item. */
  async compute(items: Input[]): Promise<(Output | Error)[]> {
    const rows = items.map(({ features }) => features);
    const labels = await model.run(rows);
    return rows.map((row, i) => (row.length === FEATURES ? { label: labels[i] ?? 0 } : invalid(row)));
  },
});
server.addService(Inference.service, implementation);

await listen(server, model);

function invalid(row: readonly number[]): BatchwiseError {
  return new BatchwiseError('INVALID_ITEM', `features: expected ${FEATURES} numbers, got ${row.length}`);
}
