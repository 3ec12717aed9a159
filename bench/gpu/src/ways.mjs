/** The ways from a client to the model, and what has to be started for each. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StartedProcess } from './started-process.mjs';

/** Loading PyTorch and capturing the graphs takes its time. */
const READY_WITHIN_MS = 120_000;

/** Each gives the port that clients ask, and what was started beside the backend. */
export const WAYS = {
  item: {
    title: 'one call per item, directly to Python',
    load: 'grpc-load.mjs',
    needsGrpc: true,
    start: async ({ backend }) => ({ port: backend.grpc_port, started: [] }),
  },
  stream: {
    title: 'batchwise proxy, one stream per batch, one message per item',
    load: 'grpc-load.mjs',
    needsGrpc: true,
    start: startProxy,
  },
  grpc: {
    title: 'batchwise serve, upstream grpc://, one message per batch',
    load: 'http-load.mjs',
    needsGrpc: true,
    start: (setup) => startServe(setup, `grpc://127.0.0.1:${setup.backend.grpc_port}/minilm`),
  },
  http: {
    title: 'batchwise serve, upstream http://, one message per batch',
    load: 'http-load.mjs',
    needsGrpc: false,
    start: (setup) => startServe(setup, `http://127.0.0.1:${setup.backend.http_port}/v2/models/minilm`),
  },
  python: {
    title: 'batchwise serve model.py, which runs the model itself',
    load: 'http-load.mjs',
    needsGrpc: false,
    start: (setup) => startServe(setup, undefined),
  },
  mosec: {
    title: 'mosec, which runs the model itself',
    load: 'http-load.mjs',
    needsGrpc: false,
    start: startMosec,
  },
  'http-item': {
    title: 'one HTTP call per item, directly to Python',
    load: 'http-load.mjs',
    needsGrpc: false,
    start: async ({ backend }) => ({ port: backend.http_port, started: [] }),
  },
};

const BACKEND = fileURLToPath(new URL('../backend/', import.meta.url));

/** Without an upstream the server runs the model itself. */
async function startServe(
  { batchwise, folder, workers, maxBatch, concurrency, replicas, targetMs, python, modelArgs },
  upstream,
) {
  const port = await freePort();
  const file = join(folder, `serve-${port}.yaml`);
  const runner = {
    ...(upstream === undefined ? { python } : { upstream }),
    concurrency,
    replicas,
    batching: {
      max_batch_size: maxBatch,
      max_queue_size: 100_000,
      ...(targetMs > 0 && { target_latency_ms: targetMs }),
    },
  };
  // JSON is YAML.
  const models = upstream === undefined ? [{ name: 'minilm', path: join(BACKEND, 'model.py') }] : [];
  writeFileSync(file, JSON.stringify({ models, runners: { minilm: runner } }));
  const args = [batchwise, 'serve', '-c', file, '--port', String(port), '--workers', String(workers)];
  const env = { ...process.env, MODEL_ARGS: modelArgs.join(' ') };
  const server = new StartedProcess(process.execPath, args, { env });
  await untilReady(`http://127.0.0.1:${port}/readyz`, server);
  return { port, started: [server] };
}

async function startMosec({ python, modelArgs, replicas, maxBatch, mosecWaitMs }) {
  const port = await freePort();
  const env = {
    ...process.env,
    MODEL_ARGS: modelArgs.join(' '),
    WORKERS: String(replicas),
    MAX_BATCH: String(maxBatch),
    MAX_WAIT_MS: String(mosecWaitMs),
  };
  const flags = [
    '--address',
    '127.0.0.1',
    '--port',
    String(port),
    '--log-level',
    'error',
    '--timeout',
    '60000',
  ];
  const server = new StartedProcess(python, [join(BACKEND, 'mosec_server.py'), ...flags], { env });
  await untilReady(`http://127.0.0.1:${port}/`, server);
  return { port, started: [server] };
}

async function startProxy({ batchwise, backend, maxBatch, concurrency }) {
  const [port, adminPort] = [await freePort(), await freePort()];
  const flags = {
    '--port': port,
    '--admin-port': adminPort,
    '--forwarding-target': `127.0.0.1:${backend.grpc_port}`,
    '--max-batch-size': maxBatch,
    '--max-batches-in-flight': concurrency,
  };
  const args = Object.entries(flags).flat().map(String);
  const proxy = new StartedProcess(process.execPath, [batchwise, 'proxy', ...args]);
  await untilReady(`http://127.0.0.1:${adminPort}/readyz`, proxy);
  return { port, started: [proxy] };
}

async function untilReady(url, started) {
  const until = Date.now() + READY_WITHIN_MS;
  while (Date.now() < until && !started.hasEnded) {
    const isReady = await fetch(url).then(
      ({ ok, body }) => body?.cancel().then(() => ok),
      () => false,
    );
    if (isReady) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${url} was not ready: ${started.errors}`);
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
