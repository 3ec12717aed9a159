import type { HttpLimits } from '../http/http-limits.js';
import type { LimitSettings } from './server-settings.js';

/** The limits in the words of the transport, where 0 is none and milliseconds are whole. */
export function httpLimitsOf(limits: LimitSettings): HttpLimits {
  return {
    maxBodyBytes: limits.bodyBytes,
    maxHeaderBytes: limits.headerBytes,
    maxConnections: zeroForNone(limits.connections),
    maxInFlight: zeroForNone(limits.inFlight),
    headersTimeoutMs: zeroForNone(limits.headersTimeoutMs),
    receiveTimeoutMs: zeroForNone(limits.receiveTimeoutMs),
    requestTimeoutMs: zeroForNone(limits.requestTimeoutMs),
    keepAliveTimeoutMs: zeroForNone(limits.keepAliveTimeoutMs),
  };
}

function zeroForNone(limit: number): number {
  return limit === Number.POSITIVE_INFINITY ? 0 : Math.ceil(limit);
}
