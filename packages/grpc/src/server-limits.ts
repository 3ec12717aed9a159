/** Limits of a server for its clients. */
export interface GrpcServerLimits {
  /**
   * Maximum size of a message.
   * @default 4 MiB
   */
  readonly maxMessageBytes: number;
  /**
   * Maximum size of all header names and values of a call.
   * @default 16 KiB
   */
  readonly maxHeaderBytes: number;
  /**
   * Maximum number of concurrent calls on one connection.
   * @default 1000
   */
  readonly maxConcurrentStreams: number;
  /**
   * Maximum number of connections. Further connections are closed.
   * @default 10,000
   */
  readonly maxConnections: number;
  /**
   * Memory for incomplete messages of all connections. One connection may use at most as much as remains free; further
   * calls are rejected.
   * @default 256 MiB
   */
  readonly maxUnfinishedBytes: number;
  /**
   * Memory for unread responses of all connections. Above it, the connection with the most loses its oldest response.
   * @default 512 MiB
   */
  readonly maxUntakenBytes: number;
  /**
   * A new connection without a call for this time is pinged once.
   * @default 10 s
   */
  readonly quietMs: number;
  /**
   * Ping interval of idle connections.
   * @default 2 h
   */
  readonly keepaliveMs: number;
  /**
   * A connection without a reply to a ping for this time is closed.
   * @default 20 s
   */
  readonly keepaliveTimeoutMs: number;
  /**
   * A new connection without an HTTP/2 preface for this time is closed.
   * @default 20 s
   */
  readonly handshakeMs: number;
  /**
   * Maximum time for a complete request to arrive. Then the call fails.
   * @default 60 s
   */
  readonly unfinishedMs: number;
  /**
   * A response that the client does not read (closed flow-control window) for this time is dropped.
   * @default 60 s
   */
  readonly untakenMs: number;
}

export const DEFAULT_SERVER_LIMITS: GrpcServerLimits = Object.freeze({
  maxMessageBytes: 4 * 1024 * 1024,
  maxHeaderBytes: 16 * 1024,
  maxConcurrentStreams: 1_000,
  maxConnections: 10_000,
  maxUnfinishedBytes: 256 * 1024 * 1024,
  maxUntakenBytes: 512 * 1024 * 1024,
  quietMs: 10_000,
  keepaliveMs: 7_200_000,
  keepaliveTimeoutMs: 20_000,
  handshakeMs: 20_000,
  unfinishedMs: 60_000,
  untakenMs: 60_000,
});

/** The defaults with these in their place; throws for a limit that is not known or not a positive number. */
export function serverLimits(given: Partial<GrpcServerLimits> = {}): GrpcServerLimits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(DEFAULT_SERVER_LIMITS, name)) {
      throw new TypeError(
        `limits: unknown limit ${name}. Known are ${Object.keys(DEFAULT_SERVER_LIMITS).join(', ')}`,
      );
    }
    if (value !== undefined && !isLimit(name, value)) {
      const kind = name.endsWith('Ms') ? `milliseconds, up to ${MOST_MS}` : 'a whole number';
      throw new TypeError(`limits.${name}: expected ${kind}, above 0, got ${String(value)}`);
    }
  }
  const chosen = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...DEFAULT_SERVER_LIMITS, ...Object.fromEntries(chosen) };
}

/** What a timer can measure. */
const MOST_MS = 2 ** 31 - 1;
/** What a setting of HTTP/2 can say. */
const MOST_OF_SETTINGS = 2 ** 32 - 1;
const SETTINGS: readonly string[] = ['maxConcurrentStreams', 'maxHeaderBytes'];

function isLimit(name: string, value: unknown): boolean {
  if (typeof value !== 'number' || !(value > 0)) return false;
  if (name.endsWith('Ms')) return value <= MOST_MS;
  return Number.isSafeInteger(value) && (!SETTINGS.includes(name) || value <= MOST_OF_SETTINGS);
}
