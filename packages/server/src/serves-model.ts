/** Whether a runner takes tensors, as far as that is known before it is loaded. The protocols serve such runners. */
import { parseUpstream, type RunnerSettings, type UpstreamAddress } from '@batchwise/runners';
import type { RunnerDeclaration } from './service/runner-declaration.js';

/** The kinds of upstreams that take tensors. */
export const MODEL_KINDS: ReadonlySet<UpstreamAddress['kind']> = new Set([
  'grpc-model',
  'http-model',
  'unix-model',
]);

export function servesModel(
  declared: Pick<RunnerDeclaration, 'kind' | 'settings'> | undefined,
  inForce: Pick<RunnerSettings, 'upstream'> | undefined,
): boolean {
  const [url] = inForce?.upstream.url ?? declared?.settings.upstream?.url ?? [];
  if (url === undefined) return declared?.kind !== 'function';
  const { kind } = parseUpstream(url);
  return MODEL_KINDS.has(kind);
}
