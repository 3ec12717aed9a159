/** Whether a runner takes tensors, as far as that is known before it is loaded: the protocols serve those. */
import { parseUpstream, type RunnerSettings } from '@batchwise/runners';
import type { RunnerDeclaration } from './service/runner-declaration.js';

export function servesModel(
  declared: Pick<RunnerDeclaration, 'kind' | 'settings'> | undefined,
  inForce: Pick<RunnerSettings, 'upstream'> | undefined,
): boolean {
  const [url] = inForce?.upstream.url ?? declared?.settings.upstream?.url ?? [];
  if (url === undefined) return declared?.kind !== 'function';
  const { kind } = parseUpstream(url);
  return kind === 'grpc-model' || kind === 'http-model' || kind === 'unix-model';
}
