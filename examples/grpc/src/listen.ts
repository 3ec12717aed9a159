/** Runs a service until SIGTERM or Ctrl-C, then prints how many batches its model has run. */
import { once } from 'node:events';
import { type Server, ServerCredentials } from '@grpc/grpc-js';
import type { Model } from './model.js';

const DEFAULT_PORT = 50051;

export async function listen(server: Server, model: Model): Promise<void> {
  const address = `127.0.0.1:${process.argv[2] ?? DEFAULT_PORT}`;
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  console.log(`listening at 127.0.0.1:${port}`);
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  server.forceShutdown();
  console.log(`ran ${model.items} items in ${model.batches} batches`);
}
