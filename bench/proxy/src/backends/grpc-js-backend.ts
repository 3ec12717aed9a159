/** A unary echo with @grpc/grpc-js as it comes. */
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { COMPUTE } from '../echo-message.js';
import type { Device } from './device.js';

/** The port it listens at. */
export async function grpcJsBackend(device: Device): Promise<number> {
  const server = new Server();
  const asItIs = (message: Buffer) => message;
  const definition = {
    compute: {
      path: COMPUTE,
      requestStream: false,
      responseStream: false,
      requestSerialize: asItIs,
      requestDeserialize: asItIs,
      responseSerialize: asItIs,
      responseDeserialize: asItIs,
    },
  };
  server.addService(definition, {
    compute: (call: { request: Buffer }, callback: (error: null, message: Buffer) => void) => {
      device.run(1, () => callback(null, call.request));
    },
  });
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}
