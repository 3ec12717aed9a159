/**
 * What listens: HTTP and gRPC around a set of runners, whether those live in this process or in others.
 */

import type { MetricsSnapshot } from '@batchwise/metrics';
import type { ModelRunner, Runner, RunnerSettings } from '@batchwise/runners';
import { bodyLimitsOf } from './body-limits.js';
import { ByteBudget } from './byte-budget.js';
import { grpcLimitsOf } from './config/grpc-limits-of.js';
import { httpLimitsOf } from './config/http-limits-of.js';
import type { ServerSettings } from './config/server-settings.js';
import { dashboardRoutes } from './docs/dashboard-routes.js';
import { docsRoutes } from './docs/docs-routes.js';
import { currentDocument } from './docs/open-api-document.js';
import { errorText } from './error-text.js';
import type { GrpcServer } from './grpc/grpc-server.js';
import { healthRoutes, type Readiness } from './http/health-routes.js';
import type { HttpRoute } from './http/http-route.js';
import { HttpServer } from './http/http-server.js';
import { metricsRoute } from './metrics/metrics-route.js';
import type { ServerMetrics } from './metrics/server-metrics.js';
import { protocolRoutes } from './protocols/protocol-routes.js';
import { servesModel } from './serves-model.js';
import type { Service } from './service/service.js';
import { serviceRoutes } from './service/service-routes.js';
import { VERSION } from './version.js';

export interface WebServerOptions {
  readonly settings: ServerSettings;
  readonly runners: ReadonlyMap<string, Runner>;
  /** In force, by name. */
  readonly runnerSettings: ReadonlyMap<string, RunnerSettings>;
  readonly service: Service | undefined;
  readonly metrics: ServerMetrics;
  /** The metrics of all processes. */
  readonly collect: () => MetricsSnapshot | Promise<MetricsSnapshot>;
  readonly log: (line: string) => void;
}

/** The address of the server. Plain data. */
export interface WebAddress {
  readonly url: string;
  readonly port: number;
  readonly grpcPort: number | undefined;
}

export class WebServer {
  readonly #options: WebServerOptions;
  readonly #http: HttpServer;
  readonly #budget: ByteBudget;
  #grpc: GrpcServer | undefined;
  #isDraining = false;

  constructor(options: WebServerOptions) {
    this.#options = options;
    const { settings, metrics, log } = options;
    const { limits, allowedHosts } = settings.server;
    const fault = (message: string, error: unknown, id: string) =>
      log(`${message} (request ${id}): ${errorText(error)}`);
    this.#budget = new ByteBudget(limits.unansweredBytes);
    this.#http = new HttpServer({
      routes: this.#routes(),
      limits: httpLimitsOf(limits),
      allowedHosts,
      budget: this.#budget,
      onCall: metrics.http,
      log: fault,
    });
  }

  async listen(): Promise<WebAddress> {
    const { host, port, grpcPort } = this.#options.settings.server;
    const http = await this.#http.listen(host, port);
    try {
      if (grpcPort === undefined) return { url: http.url, port: http.port, grpcPort };
      this.#grpc = await this.#grpcServer();
      const grpc = await this.#grpc.listen(host, grpcPort);
      return { url: http.url, port: http.port, grpcPort: grpc.port };
    } catch (error) {
      await this.#http.close();
      throw error;
    }
  }

  async #grpcServer(): Promise<GrpcServer> {
    const { settings, runners, metrics, log } = this.#options;
    const { limits, trustedHeaders } = settings.server;
    // Loaded only where it is used: the gRPC packages are a fifth of the start-up time.
    const { GrpcServer } = await import('./grpc/grpc-server.js');
    const server = new GrpcServer({
      models: this.#models(),
      isReady: () => this.#readiness().isReady,
      name: this.#name,
      version: VERSION,
      limits: grpcLimitsOf(limits),
      trustedHeaders,
      budget: this.#budget,
      onCall: metrics.grpc,
      onFault: (error) => log(`A gRPC call failed: ${errorText(error)}`),
    });
    // Runners that are no models count for the server as a whole.
    for (const runner of runners.values()) {
      runner.onStateChange(() => server.setServing(!this.#isDraining));
    }
    return server;
  }

  /** Stops accepting and finishes what was accepted. Resolves with how many did not end in time. */
  async drain(timeoutMs: number): Promise<number> {
    this.#isDraining = true;
    const cut = await Promise.all([this.#http.drain(timeoutMs), this.#grpc?.drain(timeoutMs)]);
    return cut.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  }

  async close(): Promise<void> {
    await Promise.all([this.#http.close(), this.#grpc?.close()]);
  }

  get #name(): string {
    return this.#options.service?.name ?? 'batchwise';
  }

  #routes(): HttpRoute[] {
    const { runners, runnerSettings, service, collect, settings } = this.#options;
    const models = this.#models();
    const { limits, trustedHeaders } = settings.server;
    const reading = {
      maxTimeoutMs: limits.requestTimeoutMs,
      bodyLimits: bodyLimitsOf(limits.bodyBytes),
      trustedHeaders,
    };
    const isReady = () => this.#readiness().isReady;
    const document = currentDocument({ name: this.#name, version: VERSION, service, models, trustedHeaders });
    const hasRoot = !service?.routes.some(({ method, path }) => method === 'GET' && path === '/');
    return [
      ...healthRoutes(() => this.#readiness()),
      metricsRoute(collect),
      ...protocolRoutes({ models, isReady, name: this.#name, version: VERSION, ...reading }),
      ...docsRoutes(document, { hasRoot }),
      ...dashboardRoutes(this.#name),
      ...(service === undefined
        ? []
        : serviceRoutes(service, runners, { ...reading, settings: runnerSettings })),
    ];
  }

  /** All runners that are models, those of the service too: the protocols serve them. */
  #models(): ReadonlyMap<string, ModelRunner> {
    const { runners, runnerSettings, service } = this.#options;
    const models = new Map<string, ModelRunner>();
    for (const [name, runner] of runners) {
      const isModel = servesModel(service?.runners.get(name), runnerSettings.get(name));
      if (isModel) models.set(name, runner as ModelRunner);
    }
    return models;
  }

  #readiness(): Readiness {
    if (this.#isDraining) return { isReady: false, reasons: ['the server is stopping'] };
    const reasons: string[] = [];
    for (const { name, state, problem } of this.#options.runners.values()) {
      if (state !== 'ready')
        reasons.push(`${name} is ${state}${problem === undefined ? '' : ` (${problem})`}`);
      else if (problem !== undefined) reasons.push(`${name}: ${problem}`);
    }
    return { isReady: reasons.length === 0, reasons };
  }
}
