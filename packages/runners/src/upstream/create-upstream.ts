/** Creates an upstream from its URL: a model behind the Open Inference Protocol, or a function over items. */
import { BatchwiseError, type Clock, type Handler, realClock } from 'batchwise';
import type { FunctionBackend } from '../function-runner.js';
import type { RunnerSettings } from '../runner-settings.js';
import type { TensorModel } from '../tensor-model.js';
import { copyProblem } from './copy-problem.js';
import { GrpcInferencePeer } from './grpc-inference-peer.js';
import { HttpInferencePeer } from './http-inference-peer.js';
import { PredictPeer } from './predict-peer.js';
import { StreamPeer } from './stream-peer.js';
import { UnixInferencePeer } from './unix-inference-peer.js';
import { isUrl, parseUpstream, shownUrl, type UpstreamAddress } from './upstream-address.js';
import { UpstreamBackends } from './upstream-backends.js';
import { UpstreamFunction } from './upstream-function.js';
import { UpstreamModel } from './upstream-model.js';
import type { FunctionPeer, InferencePeer } from './upstream-peer.js';
import { readTls } from './upstream-tls.js';

export interface UpstreamOptions {
  /** The name of the runner. It is also the name of the model if neither the settings nor the URL has one. */
  readonly name: string;
  /** Must contain at least one `upstream.url`. */
  readonly settings: Pick<RunnerSettings, 'upstream' | 'timeoutMs' | 'concurrency'>;
  /** Called when the upstream becomes unavailable or available. */
  readonly log?: ((line: string) => void) | undefined;
  /** @default the real clock */
  readonly clock?: Clock | undefined;
}

export type Upstream =
  | { readonly kind: 'model'; readonly model: TensorModel }
  | {
      readonly kind: 'function';
      readonly handler: Handler<unknown, unknown>;
      readonly backend: FunctionBackend;
      /** Whether the batcher may send items more than once to find the item that causes a failure. */
      readonly isolate: boolean;
    };

/** Sends nothing before it is loaded. Throws `INVALID_OPTION` for invalid settings. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const { settings, log, clock = realClock } = options;
  // The name may be a URL, and callers see the name: credentials and query strings are removed.
  const name = shownName(options.name);
  const { upstream, timeoutMs, concurrency } = settings;
  const peerContext = { name, settings: upstream, clock, log };
  const models: InferencePeer[] = [];
  const functions: FunctionPeer[] = [];
  for (const address of addressesOf(name, upstream.url)) {
    const peer = peerOf(address, peerContext);
    if ('infer' in peer) models.push(peer);
    else functions.push(peer);
  }
  const [first] = models;
  if (first !== undefined) {
    const { platform } = first;
    const backends = new UpstreamBackends({ ...peerContext, concurrency, peers: models });
    const model = new UpstreamModel({ name, backends, platform, timeoutMs, clock });
    return { kind: 'model', model };
  }
  const isRepeatable = functions[0] instanceof PredictPeer;
  const platform = isRepeatable ? 'upstream_predict' : 'upstream_stream';
  const backends = new UpstreamBackends({ ...peerContext, concurrency, peers: functions });
  const backend = new UpstreamFunction({ name, backends, timeoutMs, platform, isRepeatable, clock });
  return { kind: 'function', handler: backend.handler, backend, isolate: isRepeatable };
}

type PeerContext = Required<Pick<UpstreamOptions, 'name' | 'clock' | 'log'>> & {
  readonly settings: RunnerSettings['upstream'];
};

function peerOf(
  address: UpstreamAddress,
  { name, settings, clock, log }: PeerContext,
): InferencePeer | FunctionPeer {
  const { connections, format } = settings;
  const namedLog = (line: string) => log?.(`${name}: ${line}`);
  const tls = address.isTls ? readTls(name, settings) : undefined;
  const shared = { url: address.url, connections, clock, tls };
  switch (address.kind) {
    case 'grpc-model':
      return new GrpcInferencePeer({
        ...shared,
        ...modelOf(address, name, settings),
        target: address.target,
      });
    case 'http-model':
      return new HttpInferencePeer({
        ...shared,
        ...modelOf(address, name, settings),
        origin: address.origin,
        format,
      });
    case 'unix-model':
      return new UnixInferencePeer({ url: address.url, path: address.path, log: namedLog, clock });
    case 'predict':
      return new PredictPeer(shared);
    case 'grpc-stream': {
      const { target, path } = address;
      return new StreamPeer({ ...shared, target, path, log: namedLog });
    }
  }
}

function modelOf(
  address: { readonly model: string | undefined; readonly version: string | undefined },
  name: string,
  settings: PeerContext['settings'],
): { readonly model: string; readonly version: string } {
  return {
    model: settings.model ?? address.model ?? name,
    version: settings.version ?? address.version ?? '',
  };
}

function shownName(name: string): string {
  return isUrl(name) ? shownUrl(name) : name;
}

/** All copies of one backend use the same protocol. */
function addressesOf(name: string, urls: readonly string[]): readonly UpstreamAddress[] {
  const addresses = urls.map(parseUpstream);
  const problem = copyProblem(addresses)?.message;
  if (addresses.length > 0 && problem === undefined) return addresses;
  const message = problem ?? 'expected the URL of an upstream, got none.';
  throw new BatchwiseError('INVALID_OPTION', `${name}: ${message}`);
}
