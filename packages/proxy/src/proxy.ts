/** The proxy as a whole: calls come in, are batched, passed through or answered, and all of it ends in order. */
import {
  ExpiryLine,
  FairPool,
  GrpcError,
  GrpcServer,
  type IncomingCall,
  limitedLog,
  STATUS,
} from '@batchwise/grpc';
import { type AdminAddress, AdminServer, type Readiness } from './admin-server.js';
import type { Backend } from './backend.js';
import { BackendPool } from './backend-pool.js';
import { HealthWatch } from './health-watch.js';
import { LateEnds } from './late-ends.js';
import { MethodBatchers, MOST_METHODS } from './method-batchers.js';
import { MethodTable } from './method-table.js';
import { OwnHealth } from './own-health.js';
import { PassedCall, type PassHost } from './pass-through.js';
import { PASS_THROUGH, ProxyMetrics } from './proxy-metrics.js';
import { type ProxyOptions, type ProxySettings, proxySettings } from './proxy-options.js';
import { QueueBytes } from './queue-bytes.js';
import { TargetResolver } from './resolve-targets.js';
import type { DrainOptions, ProxyAddress, ProxyStats, RunningProxy } from './running-proxy.js';
import { type Tenant, Tenants } from './tenants.js';
import { VERSION } from './version.js';

/** Starts a proxy. Resolves when it listens; the backends need not be there yet. */
export async function startProxy(options: ProxyOptions = {}): Promise<RunningProxy> {
  const proxy = new BatchingProxy(proxySettings(options));
  try {
    await proxy.start();
  } catch (error) {
    proxy.destroy();
    throw error;
  }
  return proxy;
}

class BatchingProxy implements RunningProxy {
  readonly #settings: ProxySettings;
  readonly #table: MethodTable;
  readonly #metrics = new ProxyMetrics({ version: VERSION });
  readonly #queueBytes: QueueBytes;
  readonly #tenants: Tenants;
  readonly #lateEnds: LateEnds;
  readonly #pool: BackendPool;
  readonly #methods: MethodBatchers;
  readonly #resolver: TargetResolver;
  readonly #server: GrpcServer;
  readonly #health: OwnHealth;
  readonly #admin: AdminServer | undefined;
  #address: ProxyAddress = { host: '', port: 0 };
  #adminAddress: AdminAddress | undefined = undefined;
  #passedThrough = 0;
  readonly #passed = new Set<PassedCall>();
  readonly #passHost: PassHost;
  readonly #passStreams = new FairPool<Tenant>();
  /** Methods of which it was said that they are passed through. */
  readonly #named = new Set<string>();
  #whenDrained: Promise<void> | undefined = undefined;
  #whenClosed: Promise<void> | undefined = undefined;

  constructor(settings: ProxySettings) {
    const { clock, log, maxMessageBytes } = settings;
    this.#settings = settings;
    this.#table = new MethodTable(settings.methods);
    this.#queueBytes = new QueueBytes(settings.maxQueueBytes);
    this.#tenants = new Tenants(settings.tenantBy);
    this.#lateEnds = new LateEnds(clock);
    // What clients can provoke fills no disk.
    const faultLog = limitedLog(clock, log);
    const { passThroughIdleMs: idleMs } = settings;
    this.#passHost = { clock, idleMs, idleLine: new ExpiryLine(clock, idleMs), log: faultLog };
    this.#health = new OwnHealth(() => this.#readiness().isReady);
    this.#pool = new BackendPool({
      clock,
      log,
      tls: settings.backendTls,
      ejection: settings.ejection,
      maxBatchesInFlight: settings.maxBatchesInFlight,
      onCapacity: (batches) => this.#methods.setConcurrency(batches),
      onFreePermit: () => this.#methods.permitFreed(),
      onUpdate: () => this.#health.update(),
      onBackend: (backend) => this.#watchBackend(backend),
    });
    this.#methods = new MethodBatchers(
      {
        clock,
        log: faultLog,
        maxMessageBytes,
        pool: this.#pool,
        lateEnds: this.#lateEnds,
        queueBytes: this.#queueBytes,
        tenants: this.#tenants,
        requests: this.#metrics.requests,
      },
      (method) => this.#metrics.watchMethod(method.path, () => method.stats(), method.settings.maxBatchSize),
    );
    this.#resolver = new TargetResolver(settings.targets, {
      clock,
      log,
      onTargets: (targets, error) => this.#pool.setTargets(targets, error),
    });
    this.#server = new GrpcServer({
      clock,
      log,
      tls: settings.tls,
      limits: { maxMessageBytes, ...settings.limits },
      onCall: (call) => this.#accept(call),
    });
    if (settings.adminPort !== false) {
      this.#admin = new AdminServer({
        log,
        metrics: () => this.#metrics.snapshot(),
        readiness: () => this.#readiness(),
      });
    }
  }

  get address(): ProxyAddress {
    return this.#address;
  }

  get adminAddress(): AdminAddress | undefined {
    return this.#adminAddress;
  }

  async start(): Promise<void> {
    const { host, port, adminHost, adminPort } = this.#settings;
    await this.#resolver.start();
    // Not to refuse the first calls, or to say of itself that it is not ready, for a connection that is being made.
    await this.#pool.whenTried(FIRST_CONNECTION_MS);
    if (adminPort !== false) this.#adminAddress = await this.#admin?.listen(adminHost, adminPort);
    this.#address = await this.#server.listen({ host, port });
  }

  stats(): ProxyStats {
    const now = this.#settings.clock.now();
    return {
      isDraining: this.#isDraining,
      openCalls: this.#server.openCalls,
      passedThrough: this.#passedThrough,
      queuedBytes: this.#queueBytes.used,
      methods: this.#methods.stats(),
      backends: this.#pool.backends.map((backend) => ({
        target: backend.target,
        isUp: backend.standing(now) === 'ready',
        isEjected: backend.ejection.isEjected(now),
        isHealthy: backend.isHealthy,
        batchesInFlight: backend.running.size,
        openCalls: backend.openCalls,
        batchesLearned: backend.curve.samples,
      })),
    };
  }

  drain(options: DrainOptions = {}): Promise<void> {
    const { timeoutMs } = options;
    const whenDrained = this.#whenDrained;
    if (whenDrained !== undefined) {
      // Asked again, with less patience perhaps: the shorter time counts.
      return timeoutMs === undefined ? whenDrained : this.#endWithin(timeoutMs).then(() => whenDrained);
    }
    this.#whenDrained = this.#drain(timeoutMs ?? this.#settings.drainTimeoutMs);
    return this.#whenDrained;
  }

  close(options: DrainOptions = {}): Promise<void> {
    const whenClosed = this.#whenClosed;
    if (whenClosed !== undefined) return this.drain(options).then(() => whenClosed);
    this.#whenClosed = this.#close(options);
    return this.#whenClosed;
  }

  destroy(): void {
    this.#whenDrained ??= Promise.resolve();
    this.#methods.destroy();
    this.#server.destroy();
    this.#stop();
    this.#whenClosed ??= this.#closeAdmin();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #isDraining(): boolean {
    return this.#whenDrained !== undefined;
  }

  #accept(call: IncomingCall): void {
    const { path } = call;
    const known = this.#isDraining ? undefined : this.#methods.known(path);
    if (known !== undefined) {
      known.accept(call);
      return;
    }
    if (this.#settings.health === 'answer' && this.#health.accept(call)) return;
    if (this.#isDraining) {
      call.fail(DRAINING);
      return;
    }
    const rule = this.#table.ruleOf(path);
    if (rule === undefined) this.#passThrough(call);
    else {
      const method = this.#methods.add(path, rule, this.#tenants.of(call));
      if (method === undefined) call.fail(TOO_MANY_METHODS);
      else method.accept(call);
    }
  }

  #passThrough(call: IncomingCall): void {
    const { clock } = this.#settings;
    const { requests } = this.#metrics;
    const startedAt = clock.now();
    const tenant = this.#tenants.of(call);
    this.#passedThrough += 1;
    this.#nameOnce(call.path);
    requests.started(PASS_THROUGH);
    const done = (status: number) => requests.ended(PASS_THROUGH, status, clock.now() - startedAt);
    const most = Math.min(this.#settings.maxPassThroughStreams, this.#pool.passCapacity);
    const hasRoom = this.#passStreams.hasRoom(tenant, 1, most);
    const backend = this.#pool.down === undefined ? this.#pool.forCall() : undefined;
    if (backend === undefined || !hasRoom) {
      const error = backend === undefined ? (this.#pool.down ?? DRAINING) : TOO_MANY_STREAMS;
      call.fail(error);
      done(error.status);
      return;
    }
    tenant.opened(this.#passed);
    this.#passStreams.take(tenant, 1);
    const passed = new PassedCall(call, backend, this.#passHost, (status) => {
      tenant.closed(this.#passed);
      this.#passStreams.giveBack(tenant, 1);
      this.#passed.delete(passed);
      done(status);
    });
    this.#passed.add(passed);
    passed.start();
  }

  /** Who meant a method to be batched, and named another, would not notice otherwise. */
  #nameOnce(path: string): void {
    if (this.#named.has(path) || this.#named.size >= MOST_NAMED || path.startsWith('/grpc.')) return;
    this.#named.add(path);
    const batched = this.#settings.methods.map(({ method }) => method).join(', ');
    this.#settings.log(`${path} is passed through as it is; batched are ${batched || 'none'}`);
  }

  #watchBackend(backend: Backend): () => void {
    const { clock, log, healthCheck } = this.#settings;
    const metrics = this.#metrics.watchBackend(backend.target, () => ({
      isUp: backend.standing(clock.now()) === 'ready',
      batchesInFlight: backend.running.size,
    }));
    backend.metrics = metrics;
    const watch =
      healthCheck === undefined
        ? undefined
        : new HealthWatch(backend, { ...healthCheck, clock, log, onChange: () => this.#pool.update() });
    watch?.start();
    return () => {
      watch?.stop();
      metrics.forget();
    };
  }

  #readiness(): Readiness {
    const reasons: string[] = [];
    if (this.#isDraining) reasons.push('draining');
    if (!this.#pool.isReady) reasons.push(this.#pool.whyDown ?? 'no backend is connected and well');
    return { isReady: reasons.length === 0, reasons };
  }

  async #drain(timeoutMs: number): Promise<void> {
    // The promise of this is what says that the proxy drains: nothing may be refused before it is kept.
    await undefined;
    this.#health.end();
    await this.#endWithin(timeoutMs);
  }

  /** Whoever is not done by then is told so. */
  async #endWithin(timeoutMs: number): Promise<void> {
    const { clock } = this.#settings;
    const timer = clock.setTimer(() => {
      for (const passed of [...this.#passed]) passed.end(CLOSING);
      this.#server.failOpenCalls(CLOSING);
    }, timeoutMs);
    try {
      const closed = this.#server.close({ timeoutMs: timeoutMs + LAST_WORDS_MS });
      await Promise.all([this.#methods.close({ timeoutMs }), closed]);
    } finally {
      clock.clearTimer(timer);
    }
  }

  async #close(options: DrainOptions): Promise<void> {
    await this.drain(options);
    this.#methods.destroy();
    this.#stop();
    await this.#closeAdmin();
  }

  #stop(): void {
    this.#resolver.stop();
    this.#lateEnds.stop();
    this.#passHost.idleLine.clear();
    this.#pool.destroy();
    this.#metrics.close();
  }

  async #closeAdmin(): Promise<void> {
    if (this.#adminAddress !== undefined) await this.#admin?.close();
  }
}

/** How long the first connection to a backend is waited for before calls are taken. */
const FIRST_CONNECTION_MS = 1000;
const MOST_NAMED = 10;

/** For telling those whose time to finish is over, before their connections are closed. */
const LAST_WORDS_MS = 250;

const DRAINING = new GrpcError(STATUS.UNAVAILABLE, 'the proxy is draining and takes no more calls');
const CLOSING = new GrpcError(STATUS.UNAVAILABLE, 'the proxy is closing, and the call was not done in time');
const TOO_MANY_STREAMS = new GrpcError(
  STATUS.RESOURCE_EXHAUSTED,
  'This client has as many streams open as it may have beside others.',
);
const TOO_MANY_METHODS = new GrpcError(
  STATUS.RESOURCE_EXHAUSTED,
  `${MOST_METHODS} methods are batched already, and none of them makes room for another now`,
);
