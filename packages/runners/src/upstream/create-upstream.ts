/** An upstream as its URL says: a model behind the Open Inference Protocol, or a function over items. */
import { BatchwiseError, type Clock, type Handler, realClock } from 'batchwise';
import type { FunctionBackend } from '../function-runner.js';
import type { RunnerSettings, UpstreamSettings } from '../runner-settings.js';
import type { TensorModel } from '../tensor-model.js';
import { GrpcInferencePeer } from './grpc-inference-peer.js';
import { HttpInferencePeer } from './http-inference-peer.js';
import type { InferencePeer } from './inference-peer.js';
import { PredictPeer } from './predict-peer.js';
import { StreamPeer } from './stream-peer.js';
import {
  type GrpcModelAddress,
  type HttpModelAddress,
  type PredictAddress,
  parseUpstream,
  type StreamAddress,
  type UpstreamAddress,
} from './upstream-address.js';
import { UpstreamFunction } from './upstream-function.js';
import { UpstreamModel } from './upstream-model.js';
import { UpstreamPool } from './upstream-pool.js';
import { readTls, type UpstreamTls } from './upstream-tls.js';

export interface UpstreamOptions {
  /** Of the runner; also that of the model, where neither settings nor URL say another. */
  readonly name: string;
  /** With at least one `upstream.url`. */
  readonly settings: Pick<RunnerSettings, 'upstream' | 'timeoutMs' | 'batchDim'>;
  /** Told when it goes and comes back. */
  readonly log?: ((line: string) => void) | undefined;
  /** @default the real one */
  readonly clock?: Clock | undefined;
}

export type Upstream =
  | { readonly kind: 'model'; readonly model: TensorModel }
  | {
      readonly kind: 'function';
      readonly handler: Handler<unknown, unknown>;
      readonly backend: FunctionBackend;
      /** Whether the batcher may send items twice to find whose fault a failure is. */
      readonly isolate: boolean;
    };

/** Nothing is sent before it is loaded. Throws `INVALID_OPTION` for what cannot be meant. */
export function createUpstream({ name, settings, log, clock = realClock }: UpstreamOptions): Upstream {
  const { upstream, timeoutMs, batchDim } = settings;
  const addresses = addressesOf(name, upstream.url);
  const shared = { name, settings: upstream, clock, log };
  const make = { name, settings: upstream, clock };
  const [{ kind }] = addresses;
  switch (kind) {
    case 'grpc-model':
    case 'http-model': {
      const peers = (addresses as readonly ModelAddress[]).map((address) => inferencePeer(address, make));
      const { platform } = peers[0] as InferencePeer;
      const pool = new UpstreamPool({ ...shared, peers });
      return {
        kind: 'model',
        model: new UpstreamModel({ name, pool, platform, timeoutMs, batchDim: batchDim[0], clock }),
      };
    }
    case 'predict': {
      const { connections } = upstream;
      const peers = (addresses as readonly PredictAddress[]).map(
        ({ url }) => new PredictPeer({ url, connections, clock, tls: tlsOf(upstream, isHttps(url)) }),
      );
      const pool = new UpstreamPool({ ...shared, peers });
      return functionOf({ pool, timeoutMs, platform: 'upstream_predict', isRepeatable: true });
    }
    case 'grpc-stream': {
      const { connections } = upstream;
      const peers = (addresses as readonly StreamAddress[]).map(
        ({ url, target, path, isTls }) =>
          new StreamPeer({ url, target, path, connections, clock, tls: tlsOf(upstream, isTls) }),
      );
      const pool = new UpstreamPool({ ...shared, peers });
      return functionOf({ pool, timeoutMs, platform: 'upstream_stream', isRepeatable: false });
    }
  }
}

type ModelAddress = GrpcModelAddress | HttpModelAddress;

interface PeerMaking {
  readonly name: string;
  readonly settings: UpstreamSettings;
  readonly clock: Clock;
}

function inferencePeer(address: ModelAddress, { name, settings, clock }: PeerMaking): InferencePeer {
  const { url } = address;
  const { connections, format } = settings;
  const model = settings.model ?? address.model ?? name;
  const version = settings.version ?? address.version ?? '';
  if (address.kind === 'http-model') {
    const { origin } = address;
    const tls = tlsOf(settings, isHttps(url));
    return new HttpInferencePeer({ url, origin, model, version, format, connections, clock, tls });
  }
  const { target, isTls } = address;
  return new GrpcInferencePeer({
    url,
    target,
    model,
    version,
    connections,
    clock,
    tls: tlsOf(settings, isTls),
  });
}

function functionOf(options: ConstructorParameters<typeof UpstreamFunction>[0]): Upstream {
  const backend = new UpstreamFunction(options);
  return { kind: 'function', handler: backend.handler, backend, isolate: options.isRepeatable };
}

/** Copies of one backend speak one language. */
function addressesOf(
  name: string,
  urls: readonly string[],
): readonly [UpstreamAddress, ...UpstreamAddress[]] {
  const [first, ...others] = urls.map(parseUpstream);
  if (first === undefined)
    throw new BatchwiseError('INVALID_OPTION', `${name}: expected the URL of an upstream, got none.`);
  const other = others.find(({ kind }) => kind !== first.kind);
  if (other === undefined) return [first, ...others];
  throw new BatchwiseError(
    'INVALID_OPTION',
    `${name}: expected upstreams of one kind, got ${first.url} and ${other.url}.`,
  );
}

function tlsOf(settings: UpstreamSettings, isTls: boolean): UpstreamTls | undefined {
  return isTls ? readTls(settings) : undefined;
}

function isHttps(url: string): boolean {
  return url.startsWith('https:');
}
