/** Batched methods with fake backends, on virtual time. */
import { VirtualClock } from 'batchwise';
import { BackendPool } from '../../src/backends/backend-pool.js';
import { MethodBatchers } from '../../src/batching/method-batchers.js';
import { OpenStreamEnds } from '../../src/batching/open-stream-ends.js';
import { QueueBytes } from '../../src/batching/queue-bytes.js';
import { Tenants } from '../../src/batching/tenants.js';
import { type MethodOptions, methodSettings } from '../../src/options/method-options.js';
import type { EjectionSettings } from '../../src/options/proxy-options.js';
import { type CallerOptions, FakeCaller } from './fake-caller.js';
import { FakeChannel, type FakeOutgoingCall } from './fake-channel.js';

export interface StageOptions {
  readonly targets?: readonly string[];
  readonly method?: Partial<MethodOptions>;
  readonly maxBatchesInFlight?: number;
  readonly maxQueueBytes?: number;
  readonly ejection?: EjectionSettings;
  /** False: the backends are not connected at first. */
  readonly isConnected?: boolean;
}

export const PATH = '/pkg.Service/Compute';

export class FakeStage {
  readonly clock = new VirtualClock();
  readonly channels = new Map<string, FakeChannel>();
  readonly log: string[] = [];
  readonly ended: [route: string, status: number | string][] = [];
  readonly queueBytes: QueueBytes;
  readonly tenants = new Tenants();
  readonly openStreamEnds: OpenStreamEnds;
  readonly pool: BackendPool;
  readonly methods: MethodBatchers;
  started = 0;
  readonly #method: Partial<MethodOptions>;

  constructor(options: StageOptions = {}) {
    const { targets = ['a:1'], method = {}, maxBatchesInFlight = 1, isConnected = true } = options;
    const { clock } = this;
    const log = (line: string) => void this.log.push(line);
    this.#method = method;
    this.queueBytes = new QueueBytes(options.maxQueueBytes ?? 1_000_000);
    this.openStreamEnds = new OpenStreamEnds(clock);
    this.pool = new BackendPool({
      clock,
      log,
      maxBatchesInFlight,
      tls: undefined,
      ejection: options.ejection,
      openChannel: (channelOptions) => {
        const channel = new FakeChannel(channelOptions);
        this.channels.set(channel.target, channel);
        return channel.asChannel;
      },
      onUpdate: () => {},
      onBackend: () => () => {},
    });
    this.methods = new MethodBatchers(
      {
        clock,
        log,
        pool: this.pool,
        openStreamEnds: this.openStreamEnds,
        queueBytes: this.queueBytes,
        tenants: this.tenants,
        maxMessageBytes: 1_000_000,
        requests: {
          started: () => {
            this.started += 1;
          },
          ended: (route, status) => void this.ended.push([route, status]),
        },
      },
      () => () => {},
    );
    this.pool.setTargets(targets.map((target) => ({ target })));
    if (isConnected) for (const channel of this.channels.values()) channel.become('ready');
  }

  channel(target = 'a:1'): FakeChannel {
    const channel = this.channels.get(target);
    if (channel === undefined) throw new Error(`expected a channel to ${target}, found none`);
    return channel;
  }

  /** The open calls at all backends. */
  get open(): readonly FakeOutgoingCall[] {
    return [...this.channels.values()].flatMap((channel) => channel.open);
  }

  /** The only open stream. */
  get stream(): FakeOutgoingCall {
    const [stream, ...others] = this.open;
    if (stream === undefined || others.length > 0) {
      throw new Error(`expected one open stream, found ${this.open.length}`);
    }
    return stream;
  }

  /** A caller whose message has not arrived yet. */
  caller(options: CallerOptions = {}): FakeCaller {
    const caller = new FakeCaller({ path: PATH, ...options });
    const { path } = caller;
    const known = this.methods.get(path);
    const method =
      known ??
      this.methods.add(
        path,
        methodSettings('method', { method: path, ...this.#method }),
        this.tenants.of(caller),
      );
    method?.accept(caller);
    return caller;
  }

  /** A caller with its message. */
  calls(text: string, options: CallerOptions = {}): FakeCaller {
    return this.caller(options).sends(text);
  }

  settle(): Promise<void> {
    return this.clock.settle();
  }
}
