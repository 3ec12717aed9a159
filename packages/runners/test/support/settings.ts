import { type BatchingSettings, DEFAULT_RUNNER_SETTINGS, type RunnerSettings } from '../../src/index.js';

type Changes = Partial<Omit<RunnerSettings, 'batching'>> & { readonly batching?: Partial<BatchingSettings> };

/** Defaults for tests: batchable, without warm-up, greedy. */
export function settingsWith({ batching, ...changes }: Changes = {}): RunnerSettings {
  const { batching: defaults } = DEFAULT_RUNNER_SETTINGS;
  return {
    ...DEFAULT_RUNNER_SETTINGS,
    batchable: true,
    warmup: 0,
    ...changes,
    batching: { ...defaults, policy: 'greedy', ...batching },
  };
}
