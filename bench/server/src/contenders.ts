/** The servers that are measured, each in a process of its own. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ServerProcess } from './server-process.js';

const BIN = 'packages/cli/bin/batchwise.js';
const PREDICT = '/v1/models/digits:predict';
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const ENVIRONMENTS = `${ROOT}node_modules/.cache/bench-peers`;

export interface Target {
  readonly server: ServerProcess;
  readonly url: string;
  readonly body: string;
}

/** One digit, as a client would send it. */
export function digitBody(): string {
  const file = new URL('../../../models/digits.json', import.meta.url);
  const { samples } = JSON.parse(readFileSync(file, 'utf8')) as { samples: { input: number[] }[] };
  return JSON.stringify({ instances: [samples[0]?.input] });
}

export async function startEcho(): Promise<Target> {
  const server = await ServerProcess.start(
    (port) => ['bench/server/dist/echo-server.js', String(port)],
    '/readyz',
  );
  return { server, url: server.url + PREDICT, body: digitBody() };
}

export async function startDigits(env: Readonly<Record<string, string>> = {}): Promise<Target> {
  const args = (port: number) => [BIN, 'serve', 'models/digits.onnx', '--port', String(port)];
  const server = await ServerProcess.start(args, '/readyz', env);
  return { server, url: server.url + PREDICT, body: digitBody() };
}

/** The model of the peers in Python, with their interpreter. */
export async function startPython(peer: Peer): Promise<Target> {
  const model = 'bench/server/peers/model/digits.py';
  const args = (port: number) => [BIN, 'serve', model, '--port', String(port)];
  const env = {
    BATCHWISE__RUNNERS__PYTHON: `${ENVIRONMENTS}/${peer}`,
    BATCHWISE__RUNNERS__BATCHING__MAX_BATCH_SIZE: '64',
    OMP_NUM_THREADS: '1',
  };
  const server = await ServerProcess.start(args, '/readyz', env);
  return { server, url: server.url + PREDICT, body: digitBody() };
}

export async function startStandIn(env: Readonly<Record<string, string>> = {}): Promise<Target> {
  const args = (port: number) => [BIN, 'serve', 'bench/server/services/stand-in.ts', '--port', String(port)];
  const server = await ServerProcess.start(args, '/readyz', env);
  return { server, url: `${server.url}/predict`, body: '{"x":1}' };
}

export async function startFlowers(): Promise<Target> {
  const args = (port: number) => [BIN, 'serve', 'examples/service/service.ts', '--port', String(port)];
  const server = await ServerProcess.start(args, '/readyz');
  const body = '{"sepal_length":6.5,"sepal_width":3.2,"petal_length":5.1,"petal_width":2}';
  return { server, url: `${server.url}/classify`, body };
}

/** Other servers with the same model; `bench/server/peers/<peer>/install` installs them. */
export const PEERS = { bentoml: '/readyz', litserve: '/health', mosec: '/' } as const;

export type Peer = keyof typeof PEERS;

export function isInstalled(peer: Peer): boolean {
  return existsSync(`${ENVIRONMENTS}/${peer}`);
}

export async function startPeer(peer: Peer): Promise<Target> {
  const start = `${ROOT}bench/server/peers/${peer}/start`;
  const server = await ServerProcess.start((port) => [String(port)], PEERS[peer], {}, start);
  return { server, url: `${server.url}/predict`, body: digitBody() };
}

export const UNBATCHED = { BATCHWISE__RUNNERS__BATCHING__ENABLED: 'false' };
