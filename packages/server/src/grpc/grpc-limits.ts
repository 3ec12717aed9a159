/** How much a client of gRPC may ask of the transport, and the one place where these limits are checked. */
import { DEFAULT_BODY_BYTES } from '../body-limits.js';

export interface GrpcLimits {
  /** The largest message, as it comes and again after decompression. */
  readonly messageBytes: number;
  /** Connections beyond it are closed at once. 0: no limit. */
  readonly connections: number;
  /** Calls at a time on one connection; a client keeps back what is more. */
  readonly callsPerConnection: number;
  /** Calls of models that are worked on at a time; one more is told UNAVAILABLE. 0: no limit. */
  readonly inFlight: number;
  /** The longest that a call of a model may take, whatever its own deadline. 0: no limit. */
  readonly requestTimeoutMs: number;
  /** A request must have come whole by then. 0: no limit. */
  readonly receiveTimeoutMs: number;
  /** How long a connection may stay without a call. 0: no limit. */
  readonly idleTimeoutMs: number;
}

export const DEFAULT_GRPC_LIMITS: GrpcLimits = {
  messageBytes: DEFAULT_BODY_BYTES,
  connections: 10_000,
  callsPerConnection: 1000,
  inFlight: 0,
  requestTimeoutMs: 300_000,
  receiveTimeoutMs: 60_000,
  idleTimeoutMs: 300_000,
};

/** The largest number of milliseconds that a timer takes. */
const MAX_MS = 2 ** 31 - 1;

const RANGES: Readonly<Record<keyof GrpcLimits, readonly [least: number, most: number]>> = {
  messageBytes: [1, 2 ** 31 - 1],
  connections: [0, 2 ** 24],
  callsPerConnection: [1, 2 ** 31 - 1],
  inFlight: [0, 2 ** 31 - 1],
  requestTimeoutMs: [0, MAX_MS],
  receiveTimeoutMs: [0, MAX_MS],
  idleTimeoutMs: [0, MAX_MS],
};

/** The limits in force: those that are given, the defaults for the rest. */
export function validGrpcLimits(given: Partial<GrpcLimits>): GrpcLimits {
  const limits: Record<string, number> = { ...DEFAULT_GRPC_LIMITS };
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(RANGES, name)) {
      throw new Error(`limits: unknown limit "${name}". Known are ${Object.keys(RANGES).join(', ')}.`);
    }
    if (value === undefined) continue;
    const [least, most] = RANGES[name as keyof GrpcLimits];
    if (!(Number.isInteger(value) && value >= least && value <= most)) {
      throw new Error(`limits.${name}: expected a whole number from ${least} to ${most}, got ${value}.`);
    }
    limits[name] = value;
  }
  return Object.freeze(limits) as unknown as GrpcLimits;
}
