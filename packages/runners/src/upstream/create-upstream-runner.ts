/** A runner whose batches run on an upstream. */
import { createFunctionRunner } from '../function-runner.js';
import { createModelRunner, type ModelRunnerOptions } from '../model-runner.js';
import type { Runner } from '../runner.js';
import type { RunnerSettings } from '../runner-settings.js';
import { createUpstream } from './create-upstream.js';

export interface UpstreamRunnerOptions extends Omit<ModelRunnerOptions, 'model'> {
  /** Must contain at least one `upstream.url`. */
  readonly settings: RunnerSettings;
  /** Called when the upstream becomes unavailable or available. */
  readonly log?: ((line: string) => void) | undefined;
}

/** The state of the runner follows the upstream: `failed` while it does not respond, `ready` otherwise. */
export function createUpstreamRunner(options: UpstreamRunnerOptions): Runner {
  const { name, settings, clock } = options;
  const upstream = createUpstream(options);
  if (upstream.kind === 'model') {
    return createModelRunner({ ...options, model: upstream.model }) as Runner;
  }
  const { handler, backend, isolate } = upstream;
  return createFunctionRunner({ name, handler, backend, isolate, settings, clock });
}
