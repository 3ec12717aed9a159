/** The proxy: accepts calls, batches them, passes them through or answers them, and drains on close. */
import { readFileSync } from 'node:fs';
import { GrpcError, GrpcServer, type IncomingCall, limitedLog, STATUS } from '@batchwise/grpc';
import { type AdminAddress, AdminServer, type Readiness } from './admin/admin-server.js';
import { HealthService } from './admin/health-service.js';
import { ProxyMetrics } from './admin/proxy-metrics.js';
import type { Backend } from './backends/backend.js';
import { BackendPool } from './backends/backend-pool.js';
import { HealthWatch } from './backends/health-watch.js';
import { TargetResolver } from './backends/targets.js';
import { MAX_METHODS, MethodBatchers } from './batching/method-batchers.js';
import { OpenStreamEnds } from './batching/open-stream-ends.js';
import { QueueBytes } from './batching/queue-bytes.js';
import { Tenants } from './batching/tenants.js';
import { ruleOf } from './options/method-options.js';
import { type ProxyOptions, type ProxySettings, proxySettings } from './options/proxy-options.js';
import { PassThrough } from './pass-through.js';
import type { DrainOptions, ProxyAddress, ProxyStats, RunningProxy } from './running-proxy.js';

const { version: VERSION } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { version: string };

/** Starts a proxy. Resolves when it listens, even if no backend is connected yet. */
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
  readonly #metrics = new ProxyMetrics({ version: VERSION });
  readonly #queueBytes: QueueBytes;
  readonly #tenants: Tenants;
  readonly #openStreamEnds: OpenStreamEnds;
  readonly #pool: BackendPool;
  readonly #methods: MethodBatchers;
  readonly #resolver: TargetResolver;
  readonly #server: GrpcServer;
  readonly #health: HealthService;
  readonly #admin: AdminServer | undefined;
  #address: ProxyAddress = { host: '', port: 0 };
  #adminAddress: AdminAddress | undefined = undefined;
  readonly #passThrough: PassThrough;
  #whenDrained: Promise<void> | undefined = undefined;
  #whenClosed: Promise<void> | undefined = undefined;

  constructor(settings: ProxySettings) {
    const { clock, log, maxMessageBytes } = settings;
    this.#settings = settings;
    this.#queueBytes = new QueueBytes(settings.maxQueueBytes);
    this.#tenants = new Tenants(settings.tenantBy);
    this.#openStreamEnds = new OpenStreamEnds(clock);
    // Clients can cause these lines, so their rate is limited.
    const errorLog = limitedLog(clock, log);
    this.#health = new HealthService(() => this.#readiness().isReady);
    this.#pool = new BackendPool({
      clock,
      log,
      tls: settings.backendTls,
      ejection: settings.ejection,
      maxBatchesInFlight: settings.maxBatchesInFlight,
      onUpdate: () => this.#health.update(),
      onBackend: (backend) => this.#watchBackend(backend),
    });
    this.#methods = new MethodBatchers(
      {
        clock,
        log: errorLog,
        maxMessageBytes,
        pool: this.#pool,
        openStreamEnds: this.#openStreamEnds,
        queueBytes: this.#queueBytes,
        tenants: this.#tenants,
        requests: this.#metrics.requests,
      },
      (method) => this.#metrics.watchMethod(method.path, () => method.stats(), method.settings.maxBatchSize),
    );
    this.#passThrough = new PassThrough({
      settings,
      pool: this.#pool,
      tenants: this.#tenants,
      requests: this.#metrics.requests,
      errorLog,
    });
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
    // Otherwise the first calls would be rejected while the first connection is being established.
    await this.#pool.whenTried(FIRST_CONNECTION_MS);
    if (adminPort !== false) this.#adminAddress = await this.#admin?.listen(adminHost, adminPort);
    this.#address = await this.#server.listen({ host, port });
  }

  stats(): ProxyStats {
    return {
      isDraining: this.#isDraining,
      openCalls: this.#server.openCalls,
      passedThrough: this.#passThrough.count,
      queuedBytes: this.#queueBytes.used,
      methods: this.#methods.stats(),
      backends: this.#pool.backends.map((backend) => {
        const { target, isHealthy, openCalls, batchesLearned } = backend;
        const { isUp, isEjected, batchesInFlight } = this.#pool.stateOf(backend);
        return { target, isUp, isEjected, isHealthy, batchesInFlight, openCalls, batchesLearned };
      }),
    };
  }

  drain(options: DrainOptions = {}): Promise<void> {
    const { timeoutMs } = options;
    const whenDrained = this.#whenDrained;
    if (whenDrained !== undefined) {
      // The shorter timeout of several calls applies.
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
    const known = this.#isDraining ? undefined : this.#methods.get(path);
    if (known !== undefined) {
      known.accept(call);
      return;
    }
    if (this.#settings.health === 'answer' && this.#health.accept(call)) return;
    if (this.#isDraining) {
      call.fail(DRAINING);
      return;
    }
    const rule = ruleOf(this.#settings.methods, path);
    if (rule === undefined) this.#passThrough.accept(call);
    else {
      const method = this.#methods.add(path, rule, this.#tenants.of(call));
      if (method === undefined) call.fail(TOO_MANY_METHODS);
      else method.accept(call);
    }
  }

  #watchBackend(backend: Backend): () => void {
    const { clock, log, healthCheck } = this.#settings;
    const metrics = this.#metrics.watchBackend(backend.target, () => this.#pool.stateOf(backend));
    backend.metrics = metrics;
    const watch =
      healthCheck === undefined
        ? undefined
        : new HealthWatch(backend, {
            ...healthCheck,
            clock,
            log,
            onHealth: (isHealthy) => this.#pool.setHealthy(backend, isHealthy),
          });
    watch?.start();
    return () => {
      watch?.stop();
      metrics.forget();
    };
  }

  #readiness(): Readiness {
    const reasons: string[] = [];
    if (this.#isDraining) reasons.push('draining');
    if (!this.#pool.isReady) reasons.push(this.#pool.whyDown ?? 'no backend is connected and healthy');
    return { isReady: reasons.length === 0, reasons };
  }

  async #drain(timeoutMs: number): Promise<void> {
    // `#isDraining` becomes true when the promise of this call is stored, so the first step runs after that.
    await undefined;
    this.#health.end();
    await this.#endWithin(timeoutMs);
  }

  /** Drains; calls that are open after the timeout fail. */
  async #endWithin(timeoutMs: number): Promise<void> {
    const { clock } = this.#settings;
    const timer = clock.setTimer(() => {
      this.#passThrough.end(CLOSING);
      this.#server.failOpenCalls(CLOSING);
    }, timeoutMs);
    try {
      const closed = this.#server.close({ timeoutMs: timeoutMs + FINAL_ERRORS_MS });
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
    this.#openStreamEnds.stop();
    this.#passThrough.stop();
    this.#pool.destroy();
    this.#metrics.close();
  }

  async #closeAdmin(): Promise<void> {
    if (this.#adminAddress !== undefined) await this.#admin?.close();
  }
}

/** How long `start()` waits for the first connection to a backend. */
const FIRST_CONNECTION_MS = 1000;

/** Time to send errors to the callers that are open at the drain timeout, before their connections are closed. */
const FINAL_ERRORS_MS = 250;

const DRAINING = new GrpcError(STATUS.UNAVAILABLE, 'the proxy is draining and accepts no more calls');
const CLOSING = new GrpcError(
  STATUS.UNAVAILABLE,
  'the proxy is closing, and the call was not completed in time',
);
const TOO_MANY_METHODS = new GrpcError(
  STATUS.RESOURCE_EXHAUSTED,
  `too many batched methods (limit ${MAX_METHODS}), and none can be replaced now`,
);
