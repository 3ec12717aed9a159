/** A server with fake models and a client of it. */
import { onTestFinished } from 'vitest';
import { GrpcServer, type GrpcServerOptions } from '../../../src/grpc/grpc-server.js';
import type { FakeRunner } from './fake-runner.js';
import { InferenceClient } from './inference-client.js';

/** Both gone at the end of the test. */
export async function served(runners: readonly FakeRunner[], options: Partial<GrpcServerOptions> = {}) {
  const serving = await serve(runners, options);
  onTestFinished(serving.close);
  return serving;
}

/** For several tests; who starts it closes it. */
export async function serve(runners: readonly FakeRunner[], options: Partial<GrpcServerOptions> = {}) {
  const server = new GrpcServer({
    models: new Map(runners.map((runner) => [runner.name, runner])),
    name: 'batchwise',
    version: '1.2.3',
    isReady: () => runners.every(({ state }) => state === 'ready'),
    ...options,
  });
  const { port } = await server.listen('127.0.0.1', 0);
  const client = new InferenceClient(port);
  const close = async () => {
    client.close();
    await server.close();
  };
  return { server, client, port, close };
}
