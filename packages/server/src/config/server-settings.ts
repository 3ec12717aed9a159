/** Everything that can be set, checked and complete. The words are those of the YAML file, in camel case. */
import type { RunnerSettings } from '@batchwise/runners';
import type { TrustableHeader } from '../queue-options.js';

/** Infinity: no limit. */
export interface LimitSettings {
  /** Maximum size of a request body, as received and after decompression. */
  readonly bodyBytes: number;
  /** Memory for unanswered requests and unread responses, in each web process. */
  readonly unansweredBytes: number;
  /** Maximum size of request line and headers together. */
  readonly headerBytes: number;
  /** Maximum number of open connections in each web process. */
  readonly connections: number;
  /** Maximum number of requests in flight in each web process. */
  readonly inFlight: number;
  /** Maximum time for the headers of a request to arrive. */
  readonly headersTimeoutMs: number;
  /** Maximum time for a whole request to arrive. */
  readonly receiveTimeoutMs: number;
  /** Maximum time until the response, whatever the settings of the runners are. */
  readonly requestTimeoutMs: number;
  /** Idle timeout of a connection. */
  readonly keepAliveTimeoutMs: number;
}

export interface ListenSettings {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Undefined: no gRPC. 0 selects a free port. */
  readonly grpcPort: number | undefined;
  /** Number of web processes. With 1, everything runs in one process. */
  readonly workers: number;
  /** Maximum time for accepted requests to complete after SIGTERM. */
  readonly shutdownTimeoutMs: number;
  /** Accepted hosts in addition to loopback names. Empty: all, unless the server listens on a loopback address. */
  readonly allowedHosts: readonly string[];
  /** The queue headers that are used; the others are ignored. */
  readonly trustedHeaders: readonly TrustableHeader[];
  readonly limits: LimitSettings;
}

export interface ModelSettings {
  readonly name: string;
  /** A path relative to the working directory, or the URL of an upstream. */
  readonly path: string;
}

export interface MetricsSettings {
  /** Whether batch sizes are also exported under their BentoML names. */
  readonly bentomlNames: boolean;
}

/** The given settings of a runner. */
export type RunnerOverrides = DeepPartial<RunnerSettings>;

export interface RunnersSettings {
  /** Settings of all runners. */
  readonly all: RunnerOverrides;
  /** Settings of single runners, which override those of all. */
  readonly byName: ReadonlyMap<string, RunnerOverrides>;
}

export interface ServerSettings {
  readonly server: ListenSettings;
  readonly models: readonly ModelSettings[];
  /** Path of a service module, relative to the working directory. */
  readonly service: string | undefined;
  readonly metrics: MetricsSettings;
  readonly runners: RunnersSettings;
}

type DeepPartial<T> = {
  readonly [K in keyof T]?: NonNullable<T[K]> extends Leaf ? T[K] : DeepPartial<T[K]>;
};
type Leaf = string | number | boolean | readonly unknown[];
