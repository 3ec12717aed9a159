/** What counts for one runner: what is set for it, over what is set for all, over what its code says, over defaults. */
import { DEFAULT_RUNNER_SETTINGS, type RunnerSettings } from '@batchwise/runners';
import { RUNNER_KEYS, type SettingKey, settingsOf } from './key-tree.js';
import type { LoadedConfig } from './loaded-config.js';
import type { RunnerOverrides, ServerSettings } from './server-settings.js';
import { DEFAULT_ORIGIN, type Origin } from './setting-origin.js';
import { pathText } from './setting-path.js';

export interface ResolveRunnerOptions {
  /** The default of `batchable`: true for models served without code and for Python models. */
  readonly isBatchable: boolean;
  /** What a service's code says of it. */
  readonly code?: RunnerOverrides | undefined;
}

export function resolveRunner(
  { runners }: Pick<ServerSettings, 'runners'>,
  name: string,
  { isBatchable, code = {} }: ResolveRunnerOptions,
): RunnerSettings {
  const defaults = { ...DEFAULT_RUNNER_SETTINGS, batchable: isBatchable };
  const layers = [defaults, code, runners.all, runners.byName.get(name) ?? {}];
  const { batching, resources, redis, upstream } = DEFAULT_RUNNER_SETTINGS;
  return Object.freeze({
    ...merged<RunnerSettings>(layers),
    batching: Object.freeze(merged<typeof batching>(layers.map((layer) => layer.batching ?? {}))),
    resources: Object.freeze(merged<typeof resources>(layers.map((layer) => layer.resources ?? {}))),
    redis: Object.freeze(merged<typeof redis>(layers.map((layer) => layer.redis ?? {}))),
    upstream: Object.freeze(merged<typeof upstream>(layers.map((layer) => layer.upstream ?? {}))),
  });
}

/** Of a setting of a runner, where the code says nothing. */
export function runnerOrigin({ origins }: LoadedConfig, name: string, key: SettingKey): Origin {
  return (
    origins.get(pathText(['runners', name, ...key.path])) ??
    origins.get(pathText(['runners', ...key.path])) ??
    DEFAULT_ORIGIN
  );
}

/** The value of a setting in what is set, and whether there is one: undefined may be one. */
export function valueAt(
  settings: object | undefined,
  { fields }: SettingKey,
): { readonly value: unknown } | undefined {
  let found: unknown = settings;
  for (const field of fields) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, field)) return undefined;
    found = (found as Record<string, unknown>)[field];
  }
  return { value: found };
}

export function runnerSettingKeys(): readonly SettingKey[] {
  return KEYS;
}

const KEYS: readonly SettingKey[] = Object.freeze(settingsOf(RUNNER_KEYS));

/** The first layer is complete. */
function merged<T>(layers: readonly object[]): T {
  return Object.assign({}, ...layers) as T;
}
