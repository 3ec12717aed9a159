/** The options of startProxy() that settings stand for. */
import type { MethodOptions, ProxyOptions } from '@batchwise/proxy';
import { readCertificates } from './proxy-certificates.js';
import { DEFAULT_ADMIN_PORT } from './proxy-door-settings.js';
import type { LoadedProxy } from './proxy-load.js';
import type { MethodSettings, NamedMethod, ProxySettings } from './proxy-settings.js';

/** What counts where nothing is said: YAIS's method. */
const COMPUTE: NamedMethod = { method: '*/Compute' };

/** Reads the files of TLS. */
export function proxyOptions(loaded: LoadedProxy): ProxyOptions {
  const { settings } = loaded;
  return said({
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

/** What a method says of itself goes over what is said of all. */
function methodOptions({ method, batched, ...own }: NamedMethod, all: MethodSettings): MethodOptions {
  const of = <F extends keyof MethodSettings>(field: F): MethodSettings[F] => own[field] ?? all[field];
  const groupBy = said({ metadata: of('groupByMetadata'), messageBytes: of('groupByBytes') });
  return {
    method,
    ...said({
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
  return someOf({
    intervalMs: settings.healthCheckIntervalMs,
    timeoutMs: settings.healthCheckTimeoutMs,
    service: settings.healthCheckService,
  });
}

function ejectionOf(settings: ProxySettings): ProxyOptions['ejection'] {
  if (settings.ejection === false) return false;
  return someOf({ failures: settings.ejectionFailures, durationMs: settings.ejectionDurationMs });
}

function limitsOf(settings: ProxySettings): ProxyOptions['limits'] {
  const { maxHeaderBytes, maxConcurrentStreams, maxConnections, maxUnfinishedBytes } = settings;
  const { keepaliveMs, keepaliveTimeoutMs, handshakeMs, unfinishedMs, untakenMs } = settings;
  return someOf({
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
  const backendTls = someOf({ ca: backendCa, cert: backendCert, key: backendKey, serverName });
  return said({
    // One without the other was refused before.
    tls:
      tlsCert === undefined || tlsKey === undefined
        ? undefined
        : { cert: tlsCert, key: tlsKey, ...said({ clientCa: tlsClientCa }) },
    backendTls: backendTls ?? (isAsked || undefined),
  });
}

type Said<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Without what was not said. */
function said<T extends object>(given: T): Said<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Said<T>;
}

/** The same, or undefined when nothing was said. */
function someOf<T extends object>(given: T): Said<T> | undefined {
  const found = said(given);
  return Object.keys(found).length > 0 ? found : undefined;
}
