/** The settings of a proxy from flags, environment and file. Undefined for a setting that is not given. */
import type { TenantBy } from '@batchwise/proxy';

/** For all methods, or for one. */
export interface MethodSettings {
  readonly maxBatchSize?: number;
  /** Selects the window policy; without it, the adaptive policy. */
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
