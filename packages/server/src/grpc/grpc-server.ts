/** The gRPC side of the model server: a port with the inference service, health and reflection. */
import { type AddressInfo, createServer, type Server as Listener, type Socket } from 'node:net';
import type { ModelRunner } from '@batchwise/runners';
import {
  type ConnectionInjector,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { type Clock, realClock } from 'batchwise';
import { bodyLimitsOf } from '../body-limits.js';
import { ByteBudget, DEFAULT_UNANSWERED_BYTES } from '../byte-budget.js';
import { listenError } from '../http/listen-error.js';
import type { RequestTrust } from '../queue-options.js';
import { RequestError } from '../request-error.js';
import { CallBytes } from './call-bytes.js';
import { type GrpcLimits, validGrpcLimits } from './grpc-limits.js';
import { HealthService } from './health-service.js';
import { InferenceService } from './inference-service.js';
import { type CallHooks, OpenCalls } from './open-calls.js';
import { limited, serviceDefinitions } from './service-definitions.js';

export interface GrpcServerOptions extends Pick<RequestTrust, 'trustedHeaders'> {
  /** By the name that clients call them. */
  readonly models: ReadonlyMap<string, ModelRunner>;
  /** What the server says of itself. */
  readonly name: string;
  readonly version: string;
  /** @default binary_tensor_data */
  readonly extensions?: readonly string[];
  readonly limits?: Partial<GrpcLimits>;
  /** Shared with what else listens. One of its own unless given. */
  readonly budget?: ByteBudget;
  readonly onCall?: CallHooks;
  /** Of errors that are the server's fault, and whose text no client sees. */
  readonly onFault?: (error: unknown) => void;
  readonly clock?: Clock;
  isReady(): boolean;
}

/** What was answered when time was up has so long to leave before its connection is cut. */
const FLUSH_MS = 500;
/** A peer that vanished without a word is noticed by a ping in so long a silence. */
const KEEPALIVE_MS = 60_000;
/** The longest that grpc-js takes for an idle connection: never. */
const NEVER_MS = 2 ** 31 - 1;

export class GrpcServer {
  readonly #clock: Clock;
  readonly #health: HealthService;
  readonly #calls: OpenCalls;
  readonly #server: Server;
  /**
   * Connections are ours and given to grpc-js one by one: its own way to listen prints to stderr when a
   * port is in use, knows no limit, and does not cut them all when told to.
   */
  readonly #listener: Listener;
  readonly #connections = new Set<Socket>();
  #isDraining = false;
  #closed: Promise<void> | undefined;
  #flushTimer: unknown;
  #cutOff = 0;

  constructor(options: GrpcServerOptions) {
    const { models, name, version, extensions = ['binary_tensor_data'] } = options;
    const limits = validGrpcLimits(options.limits ?? {});
    const isReady = () => options.isReady();
    const isDraining = () => this.#isDraining;
    const onFault = options.onFault ?? ignore;
    this.#clock = options.clock ?? realClock;
    this.#calls = new OpenCalls(this.#clock, limits, options.onCall);
    // A protobuf field and an element of BYTES become an object each, as an array in JSON does.
    const { containers: maxElements } = bodyLimitsOf(limits.messageBytes);
    this.#health = new HealthService({ models, isReady, isDraining });
    const inference = new InferenceService({
      models,
      name,
      version,
      extensions,
      isReady,
      isDraining,
      onFault,
      maxInFlight: limits.inFlight,
      maxStrings: maxElements,
      maxTimeoutMs: limits.requestTimeoutMs || Number.POSITIVE_INFINITY,
      trustedHeaders: options.trustedHeaders,
    });

    const budget = options.budget ?? new ByteBudget(DEFAULT_UNANSWERED_BYTES);
    const bytes = new CallBytes(budget, limits.messageBytes);

    this.#server = new Server({
      interceptors: [bytes.intercept, this.#calls.intercept],
      'grpc.max_receive_message_length': limits.messageBytes,
      'grpc.max_concurrent_streams': limits.callsPerConnection,
      'grpc.max_connection_idle_ms': limits.idleTimeoutMs || NEVER_MS,
      'grpc.keepalive_time_ms': KEEPALIVE_MS,
      'grpc.enable_channelz': 0,
    });
    const definitions = serviceDefinitions(maxElements);
    this.#server.addService(definitions.inference, inference.methods());
    this.#server.addService(definitions.health, this.#health.methods());
    new ReflectionService(definitions.reflected).addToServer({
      addService: (service: ServiceDefinition, methods: UntypedServiceImplementation) =>
        this.#server.addService(limited(service), methods),
    } as Server);
    this.#listener = this.#listenerFor(
      this.#server.createConnectionInjector(ServerCredentials.createInsecure()),
      limits,
    );
  }

  /** Port 0 chooses a free one. */
  listen(host: string, port: number): Promise<{ port: number }> {
    return new Promise((resolve, reject) => {
      const onError = (error: Error) => reject(listenError(error, host, port));
      this.#listener.once('error', onError);
      this.#listener.listen({ host, port }, () => {
        this.#listener.off('error', onError);
        resolve({ port: (this.#listener.address() as AddressInfo).port });
      });
    });
  }

  /** What health says: of the server as a whole and of each model that is ready. True unless told otherwise. */
  setServing(isServing: boolean): void {
    this.#health.setServing(isServing);
  }

  /**
   * Takes no new calls and finishes those it has. What is left after `timeoutMs` is answered UNAVAILABLE.
   * Resolves when the last connection is closed, to how many calls were cut off like that.
   */
  async drain(timeoutMs: number): Promise<number> {
    this.#closed ??= this.#shutDown();
    const timer = this.#clock.setTimer(() => this.#cut(), timeoutMs);
    await this.#closed;
    this.#clock.clearTimer(timer);
    return this.#cutOff;
  }

  /** The same without waiting for anybody. */
  async close(): Promise<void> {
    this.#closed ??= this.#shutDown();
    this.#cut();
    await this.#closed;
  }

  #listenerFor(injector: ConnectionInjector, limits: GrpcLimits): Listener {
    const listener = createServer({ noDelay: true }, (socket) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
      injector.injectConnection(socket);
    });
    if (limits.connections > 0) listener.maxConnections = limits.connections;
    return listener;
  }

  async #shutDown(): Promise<void> {
    this.#isDraining = true;
    this.#health.refresh();
    this.#health.end(draining());
    this.#calls.endSilent(draining());
    // Sends GOAWAY: clients bring their next calls elsewhere, those that run here end as they would.
    const isQuiet = new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
    const isClosed = new Promise<void>((resolve) => this.#listener.close(() => resolve()));
    await Promise.all([isQuiet, isClosed]);
    this.#clock.clearTimer(this.#flushTimer);
    this.#calls.stop();
  }

  #cut(): void {
    if (this.#flushTimer !== undefined) return;
    this.#cutOff = this.#calls.endAll(draining());
    this.#flushTimer = this.#clock.setTimer(() => {
      for (const socket of this.#connections) socket.destroy();
    }, FLUSH_MS);
  }
}

function draining(): RequestError {
  return new RequestError('DRAINING', 'The server is shutting down. Retry on another server.');
}

function ignore(): void {}
