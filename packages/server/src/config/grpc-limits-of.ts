import type { GrpcLimits } from '../grpc/grpc-limits.js';
import type { LimitSettings } from './server-settings.js';

/** The largest message that gRPC can carry: a byte less than the largest body that can be allowed. */
const MOST_BYTES = 2 ** 31 - 1;

/** The limits in the words of the transport, where 0 is none and milliseconds are whole. */
export function grpcLimitsOf(limits: LimitSettings): Partial<GrpcLimits> {
  return {
    messageBytes: Math.min(limits.bodyBytes, MOST_BYTES),
    connections: zeroForNone(limits.connections),
    inFlight: zeroForNone(limits.inFlight),
    receiveTimeoutMs: zeroForNone(limits.receiveTimeoutMs),
    requestTimeoutMs: zeroForNone(limits.requestTimeoutMs),
  };
}

function zeroForNone(limit: number): number {
  return limit === Number.POSITIVE_INFINITY ? 0 : Math.ceil(limit);
}
