/** @grpc/grpc-js as it comes, with as many channels as the other client has connections. */
import { Client, credentials } from '@grpc/grpc-js';
import { type Caller, CONNECTIONS } from '../caller.js';
import { COMPUTE, messageFor, numberOfMessage } from '../echo-message.js';

export async function grpcJsCaller(port: number): Promise<Caller> {
  // With a pool of its own: channels to the same place would share one connection otherwise.
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
      client.makeUnaryRequest(COMPUTE, asItIs, asItIs, messageFor(number), (error, message) => {
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

function asItIs(message: Buffer): Buffer {
  return message;
}
