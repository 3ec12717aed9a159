/** Batched methods before backends without a network, on virtual time. */
import { VirtualClock } from 'batchwise';
import type { Backend } from '../../src/backend.js';
import { BackendPool } from '../../src/backend-pool.js';
import { LateEnds } from '../../src/late-ends.js';
import { MethodBatchers } from '../../src/method-batchers.js';
import { type MethodOptions, methodSettings } from '../../src/method-options.js';
import type { EjectionSettings } from '../../src/proxy-options.js';
import { QueueBytes } from '../../src/queue-bytes.js';
import { Tenants } from '../../src/tenants.js';
import { type CallerOptions, FakeCaller } from './fake-caller.js';
import { FakeChannel, type FakeOutgoingCall } from './fake-channel.js';

export interface StageOptions {
  readonly targets?: readonly string[];
  readonly method?: Partial<MethodOptions>;
  readonly maxBatchesInFlight?: number;
  readonly maxQueueBytes?: number;
  readonly ejection?: EjectionSettings;
  /** False: the backends stay as they begin, not connected. */
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
  readonly lateEnds: LateEnds;
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
    this.lateEnds = new LateEnds(clock);
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
      onCapacity: (batches) => this.methods?.setConcurrency(batches),
      onFreePermit: () => this.methods?.permitFreed(),
      onUpdate: () => {},
      onBackend: (_backend: Backend) => () => {},
    });
    this.methods = new MethodBatchers(
      {
        clock,
        log,
        pool: this.pool,
        lateEnds: this.lateEnds,
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

  /** The calls that are open at all backends. */
  get open(): readonly FakeOutgoingCall[] {
    return [...this.channels.values()].flatMap((channel) => channel.open);
  }

  /** The one stream that is open. */
  get stream(): FakeOutgoingCall {
    const [stream, ...others] = this.open;
    if (stream === undefined || others.length > 0) {
      throw new Error(`expected one open stream, found ${this.open.length}`);
    }
    return stream;
  }

  /** A caller whose message has not come. */
  caller(options: CallerOptions = {}): FakeCaller {
    const caller = new FakeCaller({ path: PATH, ...options });
    const { path } = caller;
    const known = this.methods.known(path);
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
