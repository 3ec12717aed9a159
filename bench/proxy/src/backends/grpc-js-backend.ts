/** A unary echo server with @grpc/grpc-js and default options. */
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { COMPUTE } from '../echo-message.js';
import type { Device } from './device.js';

/** Returns the port. */
export async function grpcJsBackend(device: Device): Promise<number> {
  const server = new Server();
  const identity = (message: Buffer) => message;
  const definition = {
    compute: {
      path: COMPUTE,
      requestStream: false,
      responseStream: false,
      requestSerialize: identity,
      requestDeserialize: identity,
      responseSerialize: identity,
      responseDeserialize: identity,
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
