/** The settings of the proxy: flags over environment over file. All problems are reported together. */
import { ConfigError, type ConfigProblem, type Origin, problemText, readConfigFile } from '@batchwise/server';
import { UsageFailure } from '../terminal/failure.js';
import type { Terminal } from '../terminal/terminal.js';
import { proxyCombinations } from './proxy-combinations.js';
import { proxyEnvironment } from './proxy-environment.js';
import { proxyFile } from './proxy-file.js';
import { type ProxyFlags, proxyFlags } from './proxy-flags.js';
import type { ProxyField, ProxySettings } from './proxy-settings.js';
import type { Given, ProxySource } from './proxy-source.js';

export interface LoadedProxy {
  readonly settings: ProxySettings;
  /** The origins of the given settings. */
  readonly origins: ReadonlyMap<ProxyField, Origin>;
}

const NOTHING: ProxySource = { given: new Map(), problems: [] };

export function loadProxy(flags: ProxyFlags, env: Terminal['env'], cwd = process.cwd()): LoadedProxy {
  // Without BATCHWISE_CONFIG and batchwise.yaml, which belong to the server.
  const file = flags.config === undefined ? undefined : readConfigFile({ cwd, file: flags.config, env: {} });
  const sources = [file === undefined ? NOTHING : proxyFile(file), proxyEnvironment(env), proxyFlags(flags)];
  const given = new Map<ProxyField, Given>(sources.flatMap((source) => [...source.given]));
  const loaded: LoadedProxy = {
    settings: Object.freeze(Object.fromEntries([...given].map(([field, { value }]) => [field, value]))),
    origins: new Map([...given].map(([field, { origin }]) => [field, origin])),
  };
  const problems: ConfigProblem[] = sources.flatMap((source) => source.problems);
  if (problems.length > 0) throw new ConfigError(problems);
  const together = proxyCombinations(loaded);
  if (together.some(({ origin }) => origin?.kind === 'flag'))
    throw new UsageFailure(together.map(problemText).join('\n'));
  if (together.length > 0) throw new ConfigError(together);
  return loaded;
}
