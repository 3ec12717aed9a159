import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { InferenceClient } from '../grpc/support/inference-client.js';

const built = new URL('../../dist/grpc/grpc-server.js', import.meta.url);

const PROGRAM = `
  import { GrpcServer } from ${JSON.stringify(built.href)};
  const trace = { batchSize: 1, queueMs: 0, computeMs: 0 };
  const model = {
    name: 'm', kind: 'model', state: 'ready', ready: Promise.resolve(), platform: 'fake',
    onStateChange: () => () => {},
    enqueue(item, sink) {
      process.once('SIGTERM', () => setImmediate(() => sink.resolve(item.inputs, trace)));
      console.log('asked');
      return { cancel() {} };
    },
  };
  const server = new GrpcServer({
    models: new Map([['m', model]]), name: 'n', version: 'v', isReady: () => true,
  });
  const { port } = await server.listen('127.0.0.1', 0);
  process.once('SIGTERM', () => server.drain(60_000));
  console.log(port);
`;

test('a process that serves the built package answers what it has when it is told to stop, and ends by itself', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const client = new InferenceClient(Number((await lines.next()).value));
  onTestFinished(() => client.close());
  const call = client.infer({
    model_name: 'm',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1], contents: { fp32_contents: [0.5] } }],
  });
  expect((await lines.next()).value).toBe('asked');
  child.kill('SIGTERM');
  expect((await call).response.outputs[0].contents.fp32_contents).toEqual([0.5]);
  expect(await exited).toEqual([0, null]);
});
