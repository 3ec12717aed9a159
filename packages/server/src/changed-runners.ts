/** What a changed configuration means for the runners that there are. */
import type { RunnerSettings } from '@batchwise/runners';
import type { LoadedConfig } from './config/loaded-config.js';
import { changeText, diffReloadable } from './config/reloadable.js';
import type { ServerSettings } from './config/server-settings.js';
import { runnerSettings } from './planned-runner.js';
import type { Service } from './service/service.js';

/** The settings of all runners from now on, by name. Logs what becomes of each change. */
export function changedRunners(
  before: ServerSettings,
  { settings }: LoadedConfig,
  service: Service | undefined,
  names: readonly string[],
  log: (line: string) => void,
): ReadonlyMap<string, RunnerSettings> {
  const { live, restart } = diffReloadable(before, settings);
  for (const change of live) log(`Changed: ${changeText(change)}`);
  for (const change of restart) log(`Changed, applied at the next restart: ${changeText(change)}`);
  if (live.length + restart.length === 0) log('Settings reloaded: no changes.');
  return new Map(names.map((name) => [name, runnerSettings(settings, service, name)]));
}
