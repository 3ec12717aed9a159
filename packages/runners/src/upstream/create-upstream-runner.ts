/** A runner whose batches run elsewhere. */
import { createFunctionRunner } from '../function-runner.js';
import { createModelRunner, type ModelRunnerOptions } from '../model-runner.js';
import type { Runner } from '../runner.js';
import type { RunnerSettings } from '../runner-settings.js';
import { createUpstream } from './create-upstream.js';

export interface UpstreamRunnerOptions extends Omit<ModelRunnerOptions, 'model'> {
  /** With at least one `upstream.url`. */
  readonly settings: RunnerSettings;
  /** Told when the upstream goes and comes back. */
  readonly log?: ((line: string) => void) | undefined;
}

/** Its state follows the upstream: `failed` while that does not answer, `ready` again when it does. */
export function createUpstreamRunner(options: UpstreamRunnerOptions): Runner {
  const { name, settings, clock } = options;
  const upstream = createUpstream(options);
  if (upstream.kind === 'model') {
    return createModelRunner({ ...options, model: upstream.model }) as Runner;
  }
  const { handler, backend, isolate } = upstream;
  return createFunctionRunner({ name, handler, backend, isolate, settings, clock });
}
