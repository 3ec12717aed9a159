/** How much of what a client may ask of the transport, and the one place where these limits are checked. */
import { DEFAULT_BODY_BYTES } from '../body-limits.js';

export interface HttpLimits {
  /** The largest body, as it comes and again after decompression. */
  readonly maxBodyBytes: number;
  /** Request line and headers together. */
  readonly maxHeaderBytes: number;
  /** Connections beyond it are told 503 and closed. 0: no limit. */
  readonly maxConnections: number;
  /** Requests beyond it, arriving or being worked on, are told 503. 0: no limit. */
  readonly maxInFlight: number;
  /** A request's headers must have come by then, else 408. 0: no limit. */
  readonly headersTimeoutMs: number;
  /** A request must have come whole by then, else 408. 0: no limit. */
  readonly receiveTimeoutMs: number;
  /** A request is answered by then, counted from its headers: with 504 if need be. 0: no limit. */
  readonly requestTimeoutMs: number;
  /** How long a connection may stay without a request, or without taking any of an answer. 0: no limit. */
  readonly keepAliveTimeoutMs: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  maxBodyBytes: DEFAULT_BODY_BYTES,
  maxHeaderBytes: 16 * 1024,
  maxConnections: 10_000,
  maxInFlight: 0,
  headersTimeoutMs: 10_000,
  receiveTimeoutMs: 60_000,
  requestTimeoutMs: 300_000,
  // Longer than the minute for which load balancers keep a connection: who closes it must not be us.
  keepAliveTimeoutMs: 65_000,
};

/** The largest number of milliseconds that a timer takes. */
const MAX_MS = 2 ** 31 - 1;
/** The longest body that fits into one buffer on every supported version of Node. */
const MAX_BYTES = 2 ** 32 - 1;

const RANGES: Record<keyof HttpLimits, readonly [least: number, most: number]> = {
  maxBodyBytes: [0, MAX_BYTES],
  maxHeaderBytes: [256, 2 ** 24],
  maxConnections: [0, 2 ** 24],
  maxInFlight: [0, 2 ** 24],
  headersTimeoutMs: [0, MAX_MS],
  receiveTimeoutMs: [0, MAX_MS],
  requestTimeoutMs: [0, MAX_MS],
  keepAliveTimeoutMs: [0, MAX_MS],
};

/** The limits in force: those that are given, the defaults for the rest. */
export function validHttpLimits(given: Partial<HttpLimits>): HttpLimits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(RANGES, name)) {
      throw new Error(`limits: unknown limit "${name}". Known are ${Object.keys(RANGES).join(', ')}.`);
    }
    const [least, most] = RANGES[name as keyof HttpLimits];
    if (value !== undefined && !(Number.isInteger(value) && value >= least && value <= most)) {
      throw new Error(`limits.${name}: expected a whole number from ${least} to ${most}, got ${value}.`);
    }
  }
  const known = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.freeze({ ...DEFAULT_HTTP_LIMITS, ...Object.fromEntries(known) });
}
