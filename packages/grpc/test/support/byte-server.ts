import {
  type handleBidiStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServerOptions,
} from '@grpc/grpc-js';

const asIs = (message: Buffer) => message;

export interface ByteServer {
  readonly server: Server;
  readonly port: number;
}

/** A @grpc/grpc-js server whose messages are bytes: `/a.B/Unary` and `/a.B/Stream`. */
export async function byteServer(
  handlers: {
    unary?: handleUnaryCall<Buffer, Buffer>;
    stream?: handleBidiStreamingCall<Buffer, Buffer>;
  },
  options: ServerOptions = {},
  credentials: ServerCredentials = ServerCredentials.createInsecure(),
  address = '127.0.0.1:0',
): Promise<ByteServer> {
  const server = new Server({ 'grpc.max_receive_message_length': -1, ...options });
  const method = {
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
  server.addService(
    {
      unary: { ...method, path: '/a.B/Unary', requestStream: false, responseStream: false },
      stream: { ...method, path: '/a.B/Stream', requestStream: true, responseStream: true },
    },
    { ...handlers },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { server, port };
}
