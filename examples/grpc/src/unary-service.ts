/**
 * The service as it is before batching: one item per call, one run of the model per item.
 *
 *     node examples/grpc/dist/unary-service.js [port]
 */
import { Server, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { Inference, type Input, type Output } from './inference.js';
import { listen } from './listen.js';
import { Model } from './model.js';

const model = new Model();
const server = new Server();

server.addService(Inference.service, {
  async compute({ request }: ServerUnaryCall<Input, Output>, callback: sendUnaryData<Output>) {
    const [label = 0] = await model.run([request.features]);
    callback(null, { label });
  },
});

await listen(server, model);
