/** The flags of `batchwise proxy`, made from the schema. */
import { type SettingKind, valueOfText } from '@batchwise/server';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { entriesOf } from './proxy-kinds.js';
import { PROXY_GROUPS } from './proxy-schema.js';
import type { ProxySetting } from './proxy-setting.js';
import type { ProxyField } from './proxy-settings.js';
import type { Given, ProxySource } from './proxy-source.js';

/** By commander's names: values as in a file, and `config`, `admin`. */
export interface ProxyFlags extends Readonly<Record<string, unknown>> {
  readonly config?: string;
  /** False for `--no-admin`. */
  readonly admin?: boolean;
}

export function addProxyFlags(command: Command): Command {
  for (const { title, settings } of PROXY_GROUPS) {
    const options = settings.flatMap((setting) => (setting.flag === undefined ? [] : [optionOf(setting)]));
    if (options.length > 0) command.optionsGroup(`${title}:`);
    for (const option of options) command.addOption(option);
    if (settings.some(({ field }) => field === 'adminPort'))
      command.addOption(new Option('--no-admin', 'no HTTP port for metrics and health'));
  }
  return command.optionsGroup('Settings:').option('-c, --config <file>', 'the configuration file');
}

export function proxyFlags(flags: ProxyFlags): ProxySource {
  const given = new Map<ProxyField, Given>();
  for (const setting of PROXY_GROUPS.flatMap(({ settings }) => settings)) {
    if (setting.flag === undefined) continue;
    const option = new Option(setting.flag);
    const flag = flags[option.attributeName()];
    if (flag === undefined) continue;
    const verdict = setting.kind.parse(flag, { folder: '' });
    // Commander has parsed the value before, so it is valid.
    if ('value' in verdict)
      given.set(setting.field, {
        value: verdict.value,
        origin: { kind: 'flag', flag: `--${option.name()}` },
      });
  }
  if (flags.admin === false)
    given.set('adminPort', { value: 'none', origin: { kind: 'flag', flag: '--no-admin' } });
  return { given, problems: [] };
}

function optionOf(setting: ProxySetting): Option {
  const { kind, flag = '', isRepeated = false } = setting;
  const option = new Option(flag, helpOf(setting));
  // A switch has no value.
  if (!flag.endsWith('>')) return option;
  if (flag.startsWith('--timeout-usecs')) option.conflicts('maxWaitMs');
  return option.argParser((text, before: readonly unknown[] | undefined) => {
    const value = isRepeated ? [...(before ?? []), ...listed(text, kind)] : valueOfText(text, kind);
    const verdict = kind.parse(value, { folder: '' });
    if ('value' in verdict) return value as readonly unknown[];
    throw new InvalidArgumentError(capitalized(verdict.complaints[0]?.message ?? ''));
  });
}

/** A flag that may be repeated may also have several values, separated by commas. */
function listed(text: string, kind: SettingKind<unknown>): readonly unknown[] {
  return text === '' ? [] : entriesOf(kind.isText ? text : valueOfText(text, kind));
}

function helpOf({ meaning, flag = '', default: fallback, isRepeated = false }: ProxySetting): string {
  const [sentence = ''] = meaning.split(/(?<=\S)[.:;](?: |$)/, 1);
  const words = sentence.replace(/^The /, '');
  const start = /^[A-Z][a-z]/.test(words) ? words.charAt(0).toLowerCase() : words.charAt(0);
  const again = isRepeated ? '; may be repeated' : '';
  const hasDefault = flag.endsWith('>') && !fallback.startsWith('none');
  const shown = hasDefault ? ` (default: ${fallback.replace(/^\["?|"?\]$/g, '')})` : '';
  return `${start}${words.slice(1)}${again}${shown}`.replaceAll('`', '');
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
