/** Converts settings to options of startProxy(). */
import type { MethodOptions, ProxyOptions } from '@batchwise/proxy';
import { readCertificates } from './proxy-certificates.js';
import { DEFAULT_ADMIN_PORT } from './proxy-listen-settings.js';
import type { LoadedProxy } from './proxy-load.js';
import type { MethodSettings, NamedMethod, ProxySettings } from './proxy-settings.js';

/** The default, the method of YAIS. */
const COMPUTE: NamedMethod = { method: '*/Compute' };

/** Reads the TLS files. */
export function proxyOptions(loaded: LoadedProxy): ProxyOptions {
  const { settings } = loaded;
  return defined({
    host: settings.host,
    port: settings.port,
    targets: settings.targets,
    maxBatchesInFlight: settings.maxBatchesInFlight,
    maxMessageBytes: settings.maxMessageBytes,
    maxQueueBytes: settings.maxQueueBytes,
    tenantBy: settings.tenantBy,
    maxPassThroughStreams: settings.maxPassThroughStreams,
    passThroughIdleMs: settings.passThroughIdleMs,
    drainTimeoutMs: settings.drainTimeoutMs,
    health: settings.health,
    adminHost: settings.adminHost,
    adminPort: settings.adminPort === 'none' ? false : (settings.adminPort ?? DEFAULT_ADMIN_PORT),
    methods: (settings.methods ?? [COMPUTE]).map((method) => methodOptions(method, settings)),
    healthCheck: healthCheckOf(settings),
    ejection: ejectionOf(settings),
    limits: limitsOf(settings),
    ...tlsOf(loaded),
  });
}

/** The settings of a method override those of all methods. */
function methodOptions({ method, batched, ...own }: NamedMethod, all: MethodSettings): MethodOptions {
  const of = <F extends keyof MethodSettings>(field: F): MethodSettings[F] => own[field] ?? all[field];
  const groupBy = defined({ metadata: of('groupByMetadata'), messageBytes: of('groupByBytes') });
  return {
    method,
    ...defined({
      batched,
      maxBatchSize: of('maxBatchSize'),
      maxWaitMs: of('maxWaitMs'),
      targetLatencyMs: of('targetLatencyMs'),
      timeoutMs: of('timeoutMs'),
      maxQueueSize: of('maxQueueSize'),
      groupBy: Object.keys(groupBy).length > 0 ? groupBy : undefined,
    }),
  };
}

function healthCheckOf(settings: ProxySettings): ProxyOptions['healthCheck'] {
  if (settings.healthCheck === false) return false;
  return definedOrNone({
    intervalMs: settings.healthCheckIntervalMs,
    timeoutMs: settings.healthCheckTimeoutMs,
    service: settings.healthCheckService,
  });
}

function ejectionOf(settings: ProxySettings): ProxyOptions['ejection'] {
  if (settings.ejection === false) return false;
  return definedOrNone({ failures: settings.ejectionFailures, durationMs: settings.ejectionDurationMs });
}

function limitsOf(settings: ProxySettings): ProxyOptions['limits'] {
  const { maxHeaderBytes, maxConcurrentStreams, maxConnections, maxUnfinishedBytes } = settings;
  const { keepaliveMs, keepaliveTimeoutMs, handshakeMs, unfinishedMs, untakenMs } = settings;
  return definedOrNone({
    maxHeaderBytes,
    maxConcurrentStreams,
    maxConnections,
    maxUnfinishedBytes,
    keepaliveMs,
    keepaliveTimeoutMs,
    handshakeMs,
    unfinishedMs,
    untakenMs,
  });
}

function tlsOf(loaded: LoadedProxy): Pick<ProxyOptions, 'tls' | 'backendTls'> {
  const { backendTls: isAsked = false, backendServerName: serverName } = loaded.settings;
  const { tlsCert, tlsKey, tlsClientCa, backendCa, backendCert, backendKey } = readCertificates(loaded);
  const backendTls = definedOrNone({ ca: backendCa, cert: backendCert, key: backendKey, serverName });
  return defined({
    // One without the other is rejected before.
    tls:
      tlsCert === undefined || tlsKey === undefined
        ? undefined
        : { cert: tlsCert, key: tlsKey, ...defined({ clientCa: tlsClientCa }) },
    backendTls: backendTls ?? (isAsked || undefined),
  });
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Without the undefined members. */
function defined<T extends object>(given: T): Defined<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** The same, or undefined if all members are undefined. */
function definedOrNone<T extends object>(given: T): Defined<T> | undefined {
  const found = defined(given);
  return Object.keys(found).length > 0 ? found : undefined;
}
