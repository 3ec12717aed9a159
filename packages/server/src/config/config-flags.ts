/** What the command line sets. The flags are those of the schema; the values are checked like any other. */
import type { ConfigProblem } from './config-error.js';
import type { SourceSettings } from './file-settings.js';
import { ROOT_KEYS, type SettingKey, settingsOf } from './key-tree.js';
import type { ModelSettings } from './server-settings.js';
import type { Assignments } from './setting-assignment.js';
import type { Origin } from './setting-origin.js';
import { pathText } from './setting-path.js';
import { valueOfText } from './text-value.js';

/** Flags that are not given are undefined. */
export interface ConfigFlags {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly grpcPort?: number | undefined;
  readonly workers?: number | undefined;
  /** Replaces the models of the file. */
  readonly models?: readonly (string | ModelSettings)[] | undefined;
  readonly service?: string | undefined;
}

/** A flag for the command line. */
export interface ConfigFlag {
  /** `--grpc-port <number>` */
  readonly option: string;
  readonly description: string;
  readonly defaultText: string;
  /** Returns the value for `ConfigFlags`. Throws an `Error` with the expected and the given value. */
  parse(text: string): unknown;
}

export const CONFIG_FLAGS: readonly ConfigFlag[] = settingsOf(ROOT_KEYS).flatMap((key) => {
  const { setting } = key;
  if (setting.flag?.option === undefined) return [];
  const [sentence = ''] = setting.description.split('. ', 1);
  return {
    option: setting.flag.option,
    description: sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, ''),
    defaultText: setting.default === undefined ? 'none' : String(setting.kind.write(setting.default)),
    parse: (text: string) => parseFlag(key, text),
  };
});

export function flagSettings(flags: ConfigFlags): SourceSettings {
  const assignments: Assignments = new Map();
  const problems: ConfigProblem[] = [];
  for (const key of settingsOf(ROOT_KEYS)) {
    const { flag, kind } = key.setting;
    const given = flag === undefined ? undefined : flags[flag.name as keyof ConfigFlags];
    if (flag === undefined || given === undefined) continue;
    const origin: Origin = { kind: 'flag', flag: flag.option?.split(' ')[0] ?? 'command line' };
    const verdict = kind.parse(asMaps(given), { folder: '' });
    if ('value' in verdict) {
      assignments.set(pathText(key.path), { owner: [], key, value: verdict.value, origin });
      continue;
    }
    for (const { at, message } of verdict.complaints) {
      const path = pathText([...key.path, ...at]);
      problems.push({ origin, path, message: flag.option === undefined ? `${path}: ${message}` : message });
    }
  }
  return { assignments, problems };
}

function parseFlag({ setting: { kind } }: SettingKey, text: string): unknown {
  const value = valueOfText(text, kind);
  const verdict = kind.parse(value, { folder: '' });
  if ('value' in verdict) return value;
  throw new Error(verdict.complaints[0]?.message);
}

/** Kinds see maps as `Map`. */
function asMaps(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asMaps);
  return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : value;
}
