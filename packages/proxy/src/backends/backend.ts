/** One backend: its channel, what runs there, and what is known of how quick and how well it is. */
import { type ChannelOptions, type ClientTls, GrpcChannel } from '@batchwise/grpc';
import { BackendLoad, type Clock } from 'batchwise';
import type { EjectionSettings } from '../options/proxy-options.js';
import type { BackendMetrics } from './backend-metrics.js';
import { Ejection } from './ejection.js';
import type { ResolvedTarget } from './targets.js';

export interface BackendOptions {
  readonly tls: ClientTls | true | undefined;
  readonly ejection: EjectionSettings | undefined;
  readonly clock: Clock;
  /** How a channel is opened; tests have channels of their own. */
  readonly openChannel?: ((options: ChannelOptions) => GrpcChannel) | undefined;
}

/** How soon a backend can be counted on, best first. */
export type Standing = 'ready' | 'connecting' | 'bad';

export class Backend extends BackendLoad {
  readonly target: string;
  readonly channel: GrpcChannel;
  readonly ejection: Ejection;
  /** What its health checks say; well until they say otherwise. */
  isHealthy = true;
  /** Calls that are passed through, now. */
  openCalls = 0;
  /** Where what happens to it is counted. */
  metrics: BackendMetrics | undefined = undefined;
  /** Since the last attempt to connect failed, until one succeeds. */
  isUnreachable = false;
  /** No longer among the targets: what runs ends, nothing more is sent. */
  isRemoved = false;
  readonly #openPassChannel: () => GrpcChannel;
  #passChannel: GrpcChannel | undefined = undefined;

  constructor({ target, authority, serverName }: ResolvedTarget, options: BackendOptions) {
    super();
    const { tls, ejection, clock, openChannel = realChannel } = options;
    this.target = target;
    this.ejection = new Ejection(ejection);
    const channelOptions = {
      target,
      clock,
      ...(authority === undefined ? {} : { authority }),
      ...(tls === undefined ? {} : { tls: withServerName(tls, serverName) }),
    };
    this.channel = openChannel(channelOptions);
    this.#openPassChannel = () => openChannel({ ...channelOptions, connections: PASS_CONNECTIONS });
  }

  /** For calls that are passed through: on connections of their own, they take no streams from batches and health checks. */
  get passChannel(): GrpcChannel {
    this.#passChannel ??= this.#openPassChannel();
    return this.#passChannel;
  }

  /** How many calls may be passed through at a time, by what the backend has said on the connection of the batches. */
  get passCapacity(): number {
    return PASS_CONNECTIONS * this.channel.maxStreams;
  }

  /** Resolves when what runs there has ended. */
  async close(): Promise<void> {
    await Promise.all([this.channel.close(), this.#passChannel?.close()]);
  }

  destroy(): void {
    this.channel.destroy();
    this.#passChannel?.destroy();
  }

  standing(now: number): Standing {
    const { state } = this.channel;
    if (!this.isHealthy || this.isUnreachable || this.ejection.isEjected(now)) return 'bad';
    return state === 'ready' ? 'ready' : 'connecting';
  }
}

/** Further ones are opened when a backend's MAX_CONCURRENT_STREAMS is reached on those that are there. */
const PASS_CONNECTIONS = 4;

function realChannel(options: ChannelOptions): GrpcChannel {
  return new GrpcChannel(options);
}

/** Certificates are for the name, not for the address that was found for it. */
function withServerName(tls: ClientTls | true, serverName: string | undefined): ClientTls | true {
  if (serverName === undefined) return tls;
  return tls === true ? { serverName } : { serverName, ...tls };
}
