/** What is fine by itself and cannot be together. */
import type { ConfigProblem } from './config-error.js';
import { durationText } from './kinds/duration.js';
import { UNLIMITED } from './kinds/number-kinds.js';
import type { LoadedConfig } from './loaded-config.js';
import type { Origin } from './setting-origin.js';
import { upstreamProblems } from './upstream-combinations.js';

export function combinationProblems(loaded: LoadedConfig): ConfigProblem[] {
  return [...portProblems(loaded), ...timeoutProblems(loaded), ...upstreamProblems(loaded)];
}

function portProblems({ settings: { server }, origins }: LoadedConfig): ConfigProblem[] {
  if (server.port === 0 || server.grpcPort !== server.port) return [];
  return [
    {
      origin: origins.get('server.grpc_port'),
      path: 'server.grpc_port',
      message: `expected another port than that of HTTP, got ${server.port} for both.`,
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
