/** The calls of methods that are not batched: choice of a backend, limits per tenant, metrics and the log. */
import { ExpiryLine, FairPool, GrpcError, type IncomingCall, STATUS } from '@batchwise/grpc';
import type { RequestMetrics } from '@batchwise/metrics';
import { PASS_THROUGH } from './admin/proxy-metrics.js';
import type { BackendPool } from './backends/backend-pool.js';
import type { Tenant, Tenants } from './batching/tenants.js';
import { backendError } from './grpc-errors.js';
import type { ProxySettings } from './options/proxy-options.js';
import { type PassContext, PassedCall } from './passed-call.js';

export interface PassThroughOptions {
  readonly settings: ProxySettings;
  readonly pool: BackendPool;
  readonly tenants: Tenants;
  readonly requests: RequestMetrics;
  /** The rate-limited log for failures that clients can cause. */
  readonly errorLog: (line: string) => void;
}

const MAX_LOGGED_METHODS = 10;
const NO_BACKEND = backendError(STATUS.UNAVAILABLE);
const TOO_MANY_STREAMS = new GrpcError(
  STATUS.RESOURCE_EXHAUSTED,
  'too many open streams of this client: its share of maxPassThroughStreams is used',
);

export class PassThrough {
  /** The number of calls so far. */
  count = 0;
  readonly #options: PassThroughOptions;
  readonly #context: PassContext;
  readonly #open = new Set<PassedCall>();
  readonly #streams = new FairPool<Tenant>();
  readonly #loggedMethods = new Set<string>();

  constructor(options: PassThroughOptions) {
    const { clock, passThroughIdleMs: idleMs } = options.settings;
    this.#options = options;
    this.#context = { clock, idleMs, idleLine: new ExpiryLine(clock, idleMs), log: options.errorLog };
  }

  accept(call: IncomingCall): void {
    const { settings, pool, tenants, requests } = this.#options;
    const { clock, maxPassThroughStreams } = settings;
    const startedAt = clock.now();
    const tenant = tenants.of(call);
    this.count += 1;
    this.#logOnce(call.path);
    requests.started(PASS_THROUGH);
    const done = (status: number) => requests.ended(PASS_THROUGH, status, clock.now() - startedAt);
    const hasRoom = this.#streams.hasRoom(tenant, 1, Math.min(maxPassThroughStreams, pool.passCapacity));
    const backend = pool.down === undefined ? pool.forCall() : undefined;
    if (backend === undefined || !hasRoom) {
      const error = backend === undefined ? NO_BACKEND : TOO_MANY_STREAMS;
      call.fail(error);
      done(error.status);
      return;
    }
    tenant.opened(this);
    this.#streams.take(tenant, 1);
    const passed = new PassedCall(call, backend, this.#context, (status) => {
      tenant.closed(this);
      this.#streams.giveBack(tenant, 1);
      this.#open.delete(passed);
      done(status);
    });
    this.#open.add(passed);
    passed.start();
  }

  /** Fails all open calls. */
  end(error: GrpcError): void {
    for (const passed of [...this.#open]) passed.end(error);
  }

  /** Ends no call. */
  stop(): void {
    this.#context.idleLine.clear();
  }

  /** Reveals a typo in the name of a method that should be batched. */
  #logOnce(path: string): void {
    const { log, methods } = this.#options.settings;
    const logged = this.#loggedMethods;
    if (logged.has(path) || logged.size >= MAX_LOGGED_METHODS || path.startsWith('/grpc.')) return;
    logged.add(path);
    const batched = methods.map(({ method }) => method).join(', ');
    log(`${path} is passed through without batching; batched methods: ${batched || 'none'}`);
  }
}
