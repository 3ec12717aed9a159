/** One backend: its connections and their state. Slots, ejection and choice are in the `BackendSet`. */
import { type ChannelOptions, type ClientTls, GrpcChannel } from '@batchwise/grpc';
import type { BatchContext, Clock, Backend as CoreBackend, Results } from 'batchwise';
import type { BackendMetrics } from './backend-metrics.js';
import type { ResolvedTarget } from './targets.js';

export interface BackendOptions {
  readonly tls: ClientTls | true | undefined;
  readonly maxBatchesInFlight: number;
  readonly clock: Clock;
  /** Opens a channel; tests use fake channels. */
  readonly openChannel?: ((options: ChannelOptions) => GrpcChannel) | undefined;
}

/** The method of an item sends its batch. All items of a batch have the same method. */
export interface RoutedItem {
  readonly method: {
    run(backend: Backend, items: readonly RoutedItem[], context: BatchContext): Promise<Results<never>>;
  };
}

/** Further connections are opened when the existing ones have reached MAX_CONCURRENT_STREAMS of the backend. */
const MAX_PASS_CONNECTIONS = 4;

export class Backend implements CoreBackend<RoutedItem, Buffer> {
  readonly id: string;
  readonly slots: number;
  readonly channel: GrpcChannel;
  metrics: BackendMetrics | undefined = undefined;
  /** The result of the health checks; healthy until the first one. */
  isHealthy = true;
  /** Since a connection attempt failed, until one succeeds. */
  isUnreachable = false;
  /** Calls in flight that are passed through. */
  openCalls = 0;
  /** Batches from which service times were learned. */
  batchesLearned = 0;
  readonly #openPassChannel: () => GrpcChannel;
  #passChannel: GrpcChannel | undefined = undefined;

  constructor({ target, authority, serverName }: ResolvedTarget, options: BackendOptions) {
    const { tls, maxBatchesInFlight, clock, openChannel = openGrpcChannel } = options;
    this.id = target;
    this.slots = maxBatchesInFlight;
    const channelOptions = {
      target,
      clock,
      ...(authority === undefined ? {} : { authority }),
      ...(tls === undefined ? {} : { tls: withServerName(tls, serverName) }),
    };
    this.channel = openChannel(channelOptions);
    this.#openPassChannel = () => openChannel({ ...channelOptions, connections: MAX_PASS_CONNECTIONS });
  }

  get target(): string {
    return this.id;
  }

  /** The health for the `BackendSet`: an unreachable backend is only used if there is no other. */
  get health(): boolean | 'unreachable' {
    if (this.isUnreachable) return 'unreachable';
    return this.isHealthy && this.channel.state === 'ready';
  }

  /** Separate connections, so that calls that are passed through use no streams of batches and health checks. */
  get passChannel(): GrpcChannel {
    this.#passChannel ??= this.#openPassChannel();
    return this.#passChannel;
  }

  /** The maximum number of calls that are passed through, by the stream limit of the backend. */
  get passCapacity(): number {
    return MAX_PASS_CONNECTIONS * this.channel.maxStreams;
  }

  run(items: readonly RoutedItem[], context: BatchContext): Promise<Results<never>> {
    return (items[0] as RoutedItem).method.run(this, items, context);
  }

  /** Resolves when all calls have ended. */
  async close(): Promise<void> {
    await Promise.all([this.channel.close(), this.#passChannel?.close()]);
  }

  destroy(): void {
    this.channel.destroy();
    this.#passChannel?.destroy();
  }
}

function openGrpcChannel(options: ChannelOptions): GrpcChannel {
  return new GrpcChannel(options);
}

/** A certificate is for the name, not for the address that the name resolved to. */
function withServerName(tls: ClientTls | true, serverName: string | undefined): ClientTls | true {
  if (serverName === undefined) return tls;
  return tls === true ? { serverName } : { serverName, ...tls };
}
