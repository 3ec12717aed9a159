/** The options of the proxy with their defaults, and their validation. */
import { type ClientTls, type GrpcServerLimits, type ServerTls, serverLimits } from '@batchwise/grpc';
import { type Clock, realClock } from 'batchwise';
import { type BackendTarget, parseTarget } from '../backends/targets.js';
import type { TenantBy } from '../batching/tenants.js';
import { type MethodOptions, type MethodSettings, methodSettings } from './method-options.js';
import {
  expected,
  invalidOption,
  validCertificate,
  validCount,
  validFunction,
  validKeys,
  validList,
  validPair,
  validPem,
  validSpanMs,
  validText,
} from './valid-option.js';

export interface ProxyOptions {
  /** @default '127.0.0.1' */
  readonly host?: string | undefined;
  /**
   * 0 selects a free port.
   * @default 50049
   */
  readonly port?: number | undefined;
  /**
   * The proxy's certificate and key. With `clientCa`, callers must present a certificate signed by it.
   * @default none: no TLS for callers
   */
  readonly tls?: ServerTls | undefined;
  /**
   * The backends: `host:port`, `[::1]:50051` or `unix:/path`. `dns:///name:port` stands for all addresses of the name,
   * which is resolved again every 30 s.
   * @default ['localhost:50051']
   */
  readonly targets?: readonly string[] | undefined;
  /**
   * TLS to the backends, with options if needed.
   * @default false
   */
  readonly backendTls?: ClientTls | boolean | undefined;
  /**
   * In-flight limit: batches per backend, over all methods.
   * @default 1
   */
  readonly maxBatchesInFlight?: number | undefined;
  /** Health checks of the backends with the gRPC health protocol. `false` turns them off. */
  readonly healthCheck?: HealthCheckOptions | false | undefined;
  /** Ejects a backend for some time after consecutive failures, but never all backends. `false` turns it off. */
  readonly ejection?: EjectionOptions | false | undefined;
  /**
   * Which methods are batched. The first matching rule applies. Methods without a rule are passed through.
   * @default one rule: Compute of any service
   */
  readonly methods?: readonly MethodOptions[] | undefined;
  /**
   * The largest message accepted from callers and backends.
   * @default 4 MiB
   */
  readonly maxMessageBytes?: number | undefined;
  /**
   * Memory limit for messages of unanswered calls. Calls above it are rejected.
   * @default 256 MiB
   */
  readonly maxQueueBytes?: number | undefined;
  /**
   * In-flight limit for calls that are passed through. One tenant can use at most as many as remain free for the others;
   * further calls are rejected. A lower stream limit of the backends takes precedence.
   * @default 1000
   */
  readonly maxPassThroughStreams?: number | undefined;
  /**
   * Idle timeout of calls that are passed through: the time without a message in either direction. Infinity for none.
   * @default 3,600,000: an hour
   */
  readonly passThroughIdleMs?: number | undefined;
  /**
   * What identifies a tenant: the connection, the address of the client, or a metadata key (`metadata:x-tenant`), which
   * only trusted clients may set. Tenants share slots, groups and memory fairly.
   * @default 'connection'
   */
  readonly tenantBy?: TenantBy | undefined;
  /**
   * How long `close()` waits for accepted calls.
   * @default 30,000
   */
  readonly drainTimeoutMs?: number | undefined;
  /**
   * Whether the proxy answers `grpc.health.v1.Health` for itself (serving while a backend is ready) or passes it
   * through like any other method.
   * @default 'answer'
   */
  readonly health?: 'answer' | 'pass' | undefined;
  /** Limits of the connections from callers. */
  readonly limits?: Partial<GrpcServerLimits> | undefined;
  /** @default the same as `host` */
  readonly adminHost?: string | undefined;
  /**
   * The HTTP port of /metrics, /livez, /readyz and /healthz. 0 selects a free port, `false` turns it off.
   * @default false
   */
  readonly adminPort?: number | false | undefined;
  /** Receives log lines for the operator. */
  readonly log?: ((line: string) => void) | undefined;
  /** @default the real one */
  readonly clock?: Clock | undefined;
}

export interface HealthCheckOptions {
  /** @default 5,000 */
  readonly intervalMs?: number | undefined;
  /** @default 2,000 */
  readonly timeoutMs?: number | undefined;
  /**
   * The service name in the health check.
   * @default '': the whole server
   */
  readonly service?: string | undefined;
}

export interface EjectionOptions {
  /**
   * The number of consecutive failures that eject a backend.
   * @default 5
   */
  readonly failures?: number | undefined;
  /**
   * The duration of the first ejection. It doubles with each failed trial, up to 32 times the duration.
   * @default 10,000
   */
  readonly durationMs?: number | undefined;
}

/** All options, validated and with defaults. */
export interface ProxySettings {
  readonly host: string;
  readonly port: number;
  readonly tls: ServerTls | undefined;
  readonly targets: readonly BackendTarget[];
  readonly backendTls: ClientTls | true | undefined;
  readonly maxBatchesInFlight: number;
  readonly healthCheck: HealthCheckSettings | undefined;
  readonly ejection: EjectionSettings | undefined;
  readonly methods: readonly MethodSettings[];
  readonly maxMessageBytes: number;
  readonly maxQueueBytes: number;
  readonly maxPassThroughStreams: number;
  readonly passThroughIdleMs: number;
  readonly tenantBy: TenantBy;
  readonly drainTimeoutMs: number;
  readonly health: 'answer' | 'pass';
  readonly limits: Partial<GrpcServerLimits>;
  readonly adminHost: string;
  readonly adminPort: number | false;
  readonly log: (line: string) => void;
  readonly clock: Clock;
}

export interface HealthCheckSettings {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly service: string;
}

export interface EjectionSettings {
  readonly failures: number;
  readonly durationMs: number;
}

const WHERE = 'startProxy(options)';
const MIB = 1024 * 1024;

const checks: { readonly [Key in keyof ProxySettings]: (value: unknown) => ProxySettings[Key] } = {
  host: (value) => validText('host', value),
  port: (value) => validPort('port', value),
  tls: validServerTls,
  targets: validTargets,
  backendTls: validClientTls,
  maxBatchesInFlight: (value) => validCount('maxBatchesInFlight', value, 1, 10_000),
  healthCheck: validHealthCheck,
  ejection: validEjection,
  methods: (value) =>
    validList('methods', value, 'rules').map((rule, i) => methodSettings(`methods[${i}]`, rule)),
  maxMessageBytes: (value) => validCount('maxMessageBytes', value, 1, 2 ** 31 - 1),
  maxQueueBytes: (value) => validCount('maxQueueBytes', value),
  maxPassThroughStreams: (value) => validCount('maxPassThroughStreams', value),
  passThroughIdleMs: (value) =>
    value === Number.POSITIVE_INFINITY ? value : validSpanMs('passThroughIdleMs', value),
  tenantBy: validTenantBy,
  drainTimeoutMs: (value) => validSpanMs('drainTimeoutMs', value, 0),
  health: (value) => {
    if (value === 'answer' || value === 'pass') return value;
    throw expected('health', "'answer' or 'pass'", value);
  },
  limits: validLimits,
  adminHost: (value) => validText('adminHost', value),
  adminPort: (value) => (value === false ? false : validPort('adminPort', value, ', or false')),
  log: (value) => validFunction('log', value),
  clock: validClock,
};

export function proxySettings(options: ProxyOptions = {}): ProxySettings {
  const given = validKeys(WHERE, options, Object.keys(checks));
  const defaults: ProxySettings = {
    host: '127.0.0.1',
    port: 50_049,
    tls: undefined,
    targets: [parseTarget('targets[0]', 'localhost:50051')],
    backendTls: undefined,
    maxBatchesInFlight: 1,
    healthCheck: HEALTH_CHECK,
    ejection: EJECTION,
    methods: [methodSettings('methods[0]', { method: '*/Compute' })],
    maxMessageBytes: 4 * MIB,
    maxQueueBytes: 256 * MIB,
    maxPassThroughStreams: 1000,
    passThroughIdleMs: 3_600_000,
    tenantBy: 'connection',
    drainTimeoutMs: 30_000,
    health: 'answer',
    limits: {},
    adminHost: '',
    adminPort: false,
    log: () => {},
    clock: realClock,
  };
  const valid: Record<string, unknown> = { ...defaults };
  for (const [key, value] of Object.entries(given)) {
    if (value !== undefined) valid[key] = checks[key as keyof ProxySettings](value);
  }
  if (valid.adminHost === '') valid.adminHost = valid.host;
  return Object.freeze(valid as unknown as ProxySettings);
}

const HEALTH_CHECK: HealthCheckSettings = { intervalMs: 5000, timeoutMs: 2000, service: '' };
const EJECTION: EjectionSettings = { failures: 5, durationMs: 10_000 };

function validPort(name: string, value: unknown, orElse = ''): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 65_535) return value;
  throw expected(name, `a port (0 to 65535, 0 for any free port${orElse})`, value);
}

function validTenantBy(value: unknown): TenantBy {
  const isKnown = value === 'connection' || value === 'address';
  if (isKnown || (typeof value === 'string' && /^metadata:[0-9a-z_.-]+$/.test(value)))
    return value as TenantBy;
  throw expected('tenantBy', "'connection', 'address' or 'metadata:' and a key in lower case", value);
}

function validTargets(value: unknown): readonly BackendTarget[] {
  const targets = validList('targets', value, 'targets');
  if (targets.length === 0) throw expected('targets', 'at least one target', value);
  const seen = new Set<unknown>();
  return targets
    .filter((target) => !seen.has(target) && seen.add(target))
    .map((target, i) => parseTarget(`targets[${i}]`, target));
}

function validServerTls(value: unknown): ServerTls {
  const { cert, key, clientCa } = validKeys('tls', value, ['cert', 'key', 'clientCa']);
  const tls = {
    cert: validPem('tls.cert', cert),
    key: validPem('tls.key', key),
    ...(clientCa === undefined ? {} : { clientCa: validCertificate('tls.clientCa', clientCa) }),
  };
  return validPair('tls', tls);
}

function validClientTls(value: unknown): ClientTls | true | undefined {
  if (value === true) return true;
  if (value === false) return undefined;
  const given = validKeys('backendTls', value, ['ca', 'cert', 'key', 'serverName']);
  const { ca, cert, key, serverName } = given;
  if ((cert === undefined) !== (key === undefined)) {
    throw expected('backendTls', 'cert and key together, or neither', value);
  }
  return validPair('backendTls', {
    ...(ca === undefined ? {} : { ca: validCertificate('backendTls.ca', ca) }),
    ...(cert === undefined ? {} : { cert: validPem('backendTls.cert', cert) }),
    ...(key === undefined ? {} : { key: validPem('backendTls.key', key) }),
    ...(serverName === undefined ? {} : { serverName: validText('backendTls.serverName', serverName) }),
  });
}

function validHealthCheck(value: unknown): HealthCheckSettings | undefined {
  if (value === false) return undefined;
  const given = validKeys('healthCheck', value, Object.keys(HEALTH_CHECK));
  const { intervalMs, timeoutMs, service } = { ...HEALTH_CHECK, ...withoutUndefined(given) };
  if (typeof service !== 'string') throw expected('healthCheck.service', 'a string', service);
  return {
    intervalMs: validSpanMs('healthCheck.intervalMs', intervalMs, 10),
    timeoutMs: validSpanMs('healthCheck.timeoutMs', timeoutMs),
    service,
  };
}

function validEjection(value: unknown): EjectionSettings | undefined {
  if (value === false) return undefined;
  const given = validKeys('ejection', value, Object.keys(EJECTION));
  const { failures, durationMs } = { ...EJECTION, ...withoutUndefined(given) };
  return {
    failures: validCount('ejection.failures', failures),
    durationMs: validSpanMs('ejection.durationMs', durationMs),
  };
}

function validLimits(value: unknown): Partial<GrpcServerLimits> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw expected('limits', 'an object', value);
  }
  const limits = withoutUndefined(value as Record<string, unknown>) as Partial<GrpcServerLimits>;
  if (limits.maxMessageBytes !== undefined) {
    throw invalidOption(
      'limits.maxMessageBytes: set the option maxMessageBytes instead; it applies to callers and backends.',
    );
  }
  try {
    serverLimits(limits);
  } catch (error) {
    throw invalidOption((error as Error).message);
  }
  return limits;
}

const CLOCK_FUNCTIONS = ['now', 'setTimer', 'clearTimer', 'defer'] as const;

function validClock(value: unknown): Clock {
  const clock = value as Partial<Clock> | null;
  if (typeof clock === 'object' && CLOCK_FUNCTIONS.every((name) => typeof clock?.[name] === 'function')) {
    return clock as Clock;
  }
  throw expected('clock', `a clock with ${CLOCK_FUNCTIONS.join(', ')}`, value);
}

function withoutUndefined(given: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
