/** Everything that can be set, checked and complete. The words are those of the YAML file, in camel case. */
import type { RunnerSettings } from '@batchwise/runners';
import type { TrustableHeader } from '../queue-options.js';

/** Infinity for no limit. */
export interface LimitSettings {
  /** Of a request, as it comes and again after decompression. */
  readonly bodyBytes: number;
  /** Of requests that are not answered, and of answers that are not read, in each web process. */
  readonly unansweredBytes: number;
  /** Request line and headers together. */
  readonly headerBytes: number;
  /** Open at a time, in each web process. */
  readonly connections: number;
  /** Requests that come in or are worked on at a time, in each web process. */
  readonly inFlight: number;
  /** By then a request's headers have come. */
  readonly headersTimeoutMs: number;
  /** By then all of a request has come. */
  readonly receiveTimeoutMs: number;
  /** By then a request is answered, whatever its runners do. */
  readonly requestTimeoutMs: number;
  /** How long a connection may be idle between requests. */
  readonly keepAliveTimeoutMs: number;
}

export interface ListenSettings {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Undefined for no gRPC; 0 for any that is free. */
  readonly grpcPort: number | undefined;
  /** Web processes. With 1 everything is in one process. */
  readonly workers: number;
  /** How long what was accepted may take to finish once the server is told to stop. */
  readonly shutdownTimeoutMs: number;
  /** Hosts that are answered beside loopback names; none: all, unless the server listens at a loopback address. */
  readonly allowedHosts: readonly string[];
  /** The request headers about the queue that count; the others are ignored. */
  readonly trustedHeaders: readonly TrustableHeader[];
  readonly limits: LimitSettings;
}

export interface ModelSettings {
  readonly name: string;
  /** As it can be opened from the working directory; or the URL of an upstream that serves it. */
  readonly path: string;
}

export interface MetricsSettings {
  /** Whether batch sizes are also told by the names that BentoML has for them. */
  readonly bentomlNames: boolean;
}

/** What is set of a runner, of whatever depth; what is not there is not set. */
export type RunnerOverrides = DeepPartial<RunnerSettings>;

export interface RunnersSettings {
  /** For all of them. */
  readonly all: RunnerOverrides;
  /** For one; goes over what is for all. */
  readonly byName: ReadonlyMap<string, RunnerOverrides>;
}

export interface ServerSettings {
  readonly server: ListenSettings;
  readonly models: readonly ModelSettings[];
  /** A module with a service, as it can be opened from the working directory. */
  readonly service: string | undefined;
  readonly metrics: MetricsSettings;
  readonly runners: RunnersSettings;
}

type DeepPartial<T> = {
  readonly [K in keyof T]?: NonNullable<T[K]> extends Leaf ? T[K] : DeepPartial<T[K]>;
};
type Leaf = string | number | boolean | readonly unknown[];
