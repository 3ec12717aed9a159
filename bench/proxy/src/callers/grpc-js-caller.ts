/** @grpc/grpc-js with default options, and as many channels as the other client has connections. */
import { Client, credentials } from '@grpc/grpc-js';
import { type Caller, CONNECTIONS } from '../caller.js';
import { COMPUTE, messageFor, numberOfMessage } from '../echo-message.js';

export async function grpcJsCaller(port: number): Promise<Caller> {
  // Separate subchannel pools, because channels to the same address would share one connection.
  const options = { 'grpc.use_local_subchannel_pool': 1 };
  const clients = Array.from(
    { length: CONNECTIONS },
    () => new Client(`127.0.0.1:${port}`, credentials.createInsecure(), options),
  );
  await Promise.all(clients.map(ready));
  let next = 0;
  return {
    call(number, onAnswer) {
      const client = clients[next] as Client;
      next = (next + 1) % CONNECTIONS;
      client.makeUnaryRequest(COMPUTE, identity, identity, messageFor(number), (error, message) => {
        onAnswer(error === null && message !== undefined ? numberOfMessage(message) : undefined);
      });
    },
    close() {
      for (const client of clients) client.close();
    },
  };
}

function ready(client: Client): Promise<void> {
  return new Promise((resolve, reject) => {
    client.waitForReady(Number.POSITIVE_INFINITY, (error) => (error ? reject(error) : resolve()));
  });
}

function identity(message: Buffer): Buffer {
  return message;
}
