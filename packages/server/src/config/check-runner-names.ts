/** Settings of a runner that does not exist are a slip of somebody's hand. */

import { nearestWord } from 'batchwise';
import { ConfigError, type ConfigProblem } from './config-error.js';
import { RUNNER_KEYS } from './key-tree.js';
import type { LoadedConfig } from './loaded-config.js';
import { runnerSettingKeys } from './resolve-runner.js';
import type { Origin } from './setting-origin.js';
import { pathText } from './setting-path.js';

/** For when the runners are known only after the configuration was loaded. */
export function checkRunnerNames(loaded: LoadedConfig, names: readonly string[]): void {
  const problems = runnerNameProblems(loaded, names);
  if (problems.length > 0) throw new ConfigError(problems);
}

export function runnerNameProblems(loaded: LoadedConfig, names: readonly string[]): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const name of loaded.settings.runners.byName.keys()) {
    if (names.includes(name)) continue;
    const meant = nearestWord(name, names) ?? nearestWord(name, RUNNER_KEYS.keys.keys());
    const known = names.length === 0 ? 'There are none.' : `There are ${names.join(', ')}.`;
    problems.push({
      origin: loaded.runnerNames.get(name) ?? firstOrigin(loaded, name),
      path: pathText(['runners', name]),
      message: `there is no runner ${name}. ${meant === undefined ? known : `Did you mean ${meant}?`}`,
    });
  }
  return problems;
}

/** Of the first of its settings: a name that is not in the file is a part of a variable. */
function firstOrigin({ origins }: LoadedConfig, name: string): Origin | undefined {
  for (const { path } of runnerSettingKeys()) {
    const origin = origins.get(pathText(['runners', name, ...path]));
    if (origin !== undefined) return origin;
  }
  return undefined;
}
