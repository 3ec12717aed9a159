/** What is fine by itself and cannot be together. */
import type { ConfigProblem } from './config-error.js';
import { byteSizeText } from './kinds/byte-size.js';
import { durationText } from './kinds/duration.js';
import { UNLIMITED } from './kinds/number-kinds.js';
import type { LoadedConfig } from './loaded-config.js';
import type { Origin } from './setting-origin.js';
import { upstreamProblems } from './upstream-combinations.js';

export function combinationProblems(loaded: LoadedConfig): ConfigProblem[] {
  return [
    ...portProblems(loaded),
    ...memoryProblems(loaded),
    ...timeoutProblems(loaded),
    ...upstreamProblems(loaded),
  ];
}

function portProblems({ settings: { server }, origins }: LoadedConfig): ConfigProblem[] {
  if (server.port === 0 || server.grpcPort !== server.port) return [];
  return [
    {
      origin: origins.get('server.grpc_port'),
      path: 'server.grpc_port',
      message: `expected a port other than that of HTTP, got ${server.port} for both.`,
    },
  ];
}

/** One connection may hold half of the memory at most: a larger body would never be accepted. */
function memoryProblems({ settings, origins }: LoadedConfig): ConfigProblem[] {
  const { bodyBytes, unansweredBytes } = settings.server.limits;
  if (2 * bodyBytes <= unansweredBytes) return [];
  const path = isSet(origins, 'server.limits.body_bytes')
    ? 'server.limits.body_bytes'
    : 'server.limits.unanswered_bytes';
  return [
    {
      origin: origins.get(path),
      path,
      message: `expected body_bytes to be at most half of unanswered_bytes, got ${byteSizeText(bodyBytes)} and ${byteSizeText(unansweredBytes)}.`,
    },
  ];
}

/** Headers are a part of the request. */
function timeoutProblems({ settings, origins }: LoadedConfig): ConfigProblem[] {
  const { headersTimeoutMs, receiveTimeoutMs } = settings.server.limits;
  if (headersTimeoutMs <= receiveTimeoutMs) return [];
  const path = isSet(origins, 'server.limits.headers_timeout')
    ? 'server.limits.headers_timeout'
    : 'server.limits.receive_timeout';
  return [
    {
      origin: origins.get(path),
      path,
      message: `expected headers_timeout to be at most receive_timeout, got ${told(headersTimeoutMs)} and ${told(receiveTimeoutMs)}.`,
    },
  ];
}

function isSet(origins: ReadonlyMap<string, Origin>, path: string): boolean {
  const origin = origins.get(path);
  return origin !== undefined && origin.kind !== 'default';
}

function told(ms: number): string {
  return ms === Number.POSITIVE_INFINITY ? UNLIMITED : durationText(ms);
}
