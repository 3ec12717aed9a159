/** What may be said of a proxy, in flags, in the environment and in a file. What is undefined was not said. */
import type { TenantBy } from '@batchwise/proxy';

/** Of every method, or of one. */
export interface MethodSettings {
  readonly maxBatchSize?: number;
  /** Said: the window policy. Not said: the adaptive one. */
  readonly maxWaitMs?: number;
  readonly targetLatencyMs?: number;
  readonly timeoutMs?: number;
  readonly maxQueueSize?: number;
  readonly groupByMetadata?: readonly string[];
  readonly groupByBytes?: readonly number[];
}

export interface NamedMethod extends MethodSettings {
  readonly method: string;
  readonly batched?: string;
}

export interface ProxySettings extends MethodSettings {
  readonly host?: string;
  readonly port?: number;
  /** Paths of PEM files, here and below. */
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsClientCa?: string;
  readonly health?: 'answer' | 'pass';
  readonly maxMessageBytes?: number;
  readonly maxQueueBytes?: number;
  readonly tenantBy?: TenantBy;
  readonly drainTimeoutMs?: number;
  readonly adminHost?: string;
  readonly adminPort?: number | 'none';

  readonly targets?: readonly string[];
  readonly maxBatchesInFlight?: number;
  readonly backendTls?: boolean;
  readonly backendCa?: string;
  readonly backendCert?: string;
  readonly backendKey?: string;
  readonly backendServerName?: string;
  readonly healthCheck?: boolean;
  readonly healthCheckIntervalMs?: number;
  readonly healthCheckTimeoutMs?: number;
  readonly healthCheckService?: string;
  readonly ejection?: boolean;
  readonly ejectionFailures?: number;
  readonly ejectionDurationMs?: number;

  readonly methods?: readonly NamedMethod[];

  readonly maxHeaderBytes?: number;
  readonly maxConcurrentStreams?: number;
  readonly maxConnections?: number;
  readonly maxPassThroughStreams?: number;
  readonly passThroughIdleMs?: number;
  readonly maxUnfinishedBytes?: number;
  readonly keepaliveMs?: number;
  readonly keepaliveTimeoutMs?: number;
  readonly handshakeMs?: number;
  readonly unfinishedMs?: number;
  readonly untakenMs?: number;
}

export type ProxyField = keyof ProxySettings;
