/** What one server lets its clients use. Everything that a client can make grow is bounded here. */
export interface GrpcServerLimits {
  /** The largest message taken. @default 4 MiB */
  readonly maxMessageBytes: number;
  /** All header names and values of a call together. @default 16 KiB */
  readonly maxHeaderBytes: number;
  /** Calls at a time on one connection. @default 1000 */
  readonly maxConcurrentStreams: number;
  /** Further ones are closed as they come. @default 10,000 */
  readonly maxConnections: number;
  /** Held in all for messages of which only a part has come. A connection may hold as much as is left for the others; beyond it its calls are rejected. @default 256 MiB */
  readonly maxUnfinishedBytes: number;
  /** Held in all for answers that their clients have not taken. Beyond it the connection that holds most loses its oldest. @default 512 MiB */
  readonly maxUntakenBytes: number;
  /** A client that begins no call for so long is pinged once: is it there at all? @default 10 s */
  readonly quietMs: number;
  /** One that stays silent is pinged at this interval. @default 2 h */
  readonly keepaliveMs: number;
  /** A ping without answer for so long: the connection is dead. @default 20 s */
  readonly keepaliveTimeoutMs: number;
  /** A new connection that has not spoken HTTP/2 by then is closed. @default 20 s */
  readonly handshakeMs: number;
  /** A request that is not complete by then is ended. @default 60 s */
  readonly unfinishedMs: number;
  /** An answer that its client does not take (a window that stays closed) is dropped then. @default 60 s */
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
        `limits.${name} is not known; expected one of ${Object.keys(DEFAULT_SERVER_LIMITS).join(', ')}`,
      );
    }
    if (value !== undefined && !isLimit(name, value)) {
      const kind = name.endsWith('Ms') ? `milliseconds, up to ${MOST_MS}` : 'a whole number';
      throw new TypeError(`limits.${name} is expected to be ${kind}, above 0, but ${String(value)} came`);
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
