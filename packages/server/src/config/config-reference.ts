/** The tables of docs/reference/configuration.md, from the schema: a test holds the page to them. */
import { variableOf } from './environment-settings.js';
import { ROOT_KEYS, RUNNER_KEYS, type SettingKey, settingsOf } from './key-tree.js';

const HEAD = '| key, variable, flag | value | default | meaning |\n|---|---|---|---|';

export function serverReference(): string {
  return table(settingsOf(ROOT_KEYS), []);
}

export function runnerReference(): string {
  return table(settingsOf(RUNNER_KEYS), ['runners']);
}

function table(keys: readonly SettingKey[], owner: readonly string[]): string {
  return [HEAD, ...keys.map((key) => row(key, owner))].join('\n');
}

function row({ path, setting, isLive }: SettingKey, owner: readonly string[]): string {
  const names = [path.join('.'), variableOf([...owner, ...path])];
  if (setting.flag?.option !== undefined) names.push(setting.flag.option);
  const range = setting.kind.label ?? setting.kind.expected.replace(/^an? /, '');
  const meaning = isLive ? `${setting.description} †` : setting.description;
  return `| ${names.map((name) => `\`${name}\``).join('<br>')} | ${range} | ${defaultText(setting)} | ${meaning} |`;
}

function defaultText({ kind, default: value, defaultText: told }: SettingKey['setting']): string {
  if (told !== undefined) return told;
  if (value === undefined) return 'none';
  const written = kind.write(value);
  return Array.isArray(written)
    ? written.length === 0
      ? 'none'
      : `\`[${written.join(', ')}]\``
    : `\`${written}\``;
}
