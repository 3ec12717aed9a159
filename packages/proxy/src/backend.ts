/** One backend: its channel, what runs there, and what is known of how quick and how well it is. */
import { type ChannelOptions, type ClientTls, GrpcChannel } from '@batchwise/grpc';
import { BackendLoad, type Clock } from 'batchwise';
import type { BackendMetrics } from './backend-metrics.js';
import { Ejection } from './ejection.js';
import type { EjectionSettings } from './proxy-options.js';
import type { ResolvedTarget } from './resolve-targets.js';

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

  constructor({ target, authority, serverName }: ResolvedTarget, options: BackendOptions) {
    super();
    const { tls, ejection, clock, openChannel = realChannel } = options;
    this.target = target;
    this.ejection = new Ejection(ejection);
    this.channel = openChannel({
      target,
      clock,
      ...(authority === undefined ? {} : { authority }),
      ...(tls === undefined ? {} : { tls: withServerName(tls, serverName) }),
    });
  }

  standing(now: number): Standing {
    const { state } = this.channel;
    if (!this.isHealthy || this.isUnreachable || this.ejection.isEjected(now)) return 'bad';
    return state === 'ready' ? 'ready' : 'connecting';
  }
}

function realChannel(options: ChannelOptions): GrpcChannel {
  return new GrpcChannel(options);
}

/** Certificates are for the name, not for the address that was found for it. */
function withServerName(tls: ClientTls | true, serverName: string | undefined): ClientTls | true {
  if (serverName === undefined) return tls;
  return tls === true ? { serverName } : { serverName, ...tls };
}
