/** The flags of `batchwise proxy`, as the schema has them, and what they say. */
import { type SettingKind, valueOfText } from '@batchwise/server';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { entriesOf } from './proxy-kinds.js';
import { PROXY_GROUPS } from './proxy-schema.js';
import type { ProxySetting } from './proxy-setting.js';
import type { ProxyField } from './proxy-settings.js';
import type { ProxySource, Said } from './proxy-source.js';

/** By commander's names: values as a file would have them, and `config`, `admin`. */
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
      command.addOption(new Option('--no-admin', 'no /metrics, and no health over HTTP'));
  }
  return command
    .optionsGroup('Settings:')
    .option('-c, --config <file>', 'a file of settings; methods with settings of their own need one');
}

export function proxyFlags(flags: ProxyFlags): ProxySource {
  const said = new Map<ProxyField, Said>();
  for (const setting of PROXY_GROUPS.flatMap(({ settings }) => settings)) {
    if (setting.flag === undefined) continue;
    const option = new Option(setting.flag);
    const given = flags[option.attributeName()];
    if (given === undefined) continue;
    const verdict = setting.kind.parse(given, { folder: '' });
    // Commander has asked the same before, and would not have come here.
    if ('value' in verdict)
      said.set(setting.field, { value: verdict.value, origin: { kind: 'flag', flag: `--${option.name()}` } });
  }
  if (flags.admin === false)
    said.set('adminPort', { value: 'none', origin: { kind: 'flag', flag: '--no-admin' } });
  return { said, problems: [] };
}

function optionOf(setting: ProxySetting): Option {
  const { kind, flag = '', isRepeated = false } = setting;
  const option = new Option(flag, helpOf(setting));
  // A switch has nothing to parse.
  if (!flag.endsWith('>')) return option;
  if (flag.startsWith('--timeout-usecs')) option.conflicts('maxWaitMs');
  return option.argParser((text, before: readonly unknown[] | undefined) => {
    const value = isRepeated ? [...(before ?? []), ...listed(text, kind)] : valueOfText(text, kind);
    const verdict = kind.parse(value, { folder: '' });
    if ('value' in verdict) return value as readonly unknown[];
    throw new InvalidArgumentError(capitalized(verdict.complaints[0]?.message ?? ''));
  });
}

/** Of a flag that may come again: each may have several, with commas. */
function listed(text: string, kind: SettingKind<unknown>): readonly unknown[] {
  return text === '' ? [] : entriesOf(kind.isText ? text : valueOfText(text, kind));
}

function helpOf({ meaning, flag = '', default: fallback, isRepeated = false }: ProxySetting): string {
  const [sentence = ''] = meaning.split(/(?<=\S)[.:;](?: |$)/, 1);
  const start = /^[A-Z][a-z]/.test(sentence) ? sentence.charAt(0).toLowerCase() : sentence.charAt(0);
  const again = isRepeated ? '; may be repeated' : '';
  const isTold = flag.endsWith('>') && !fallback.startsWith('none');
  const told = isTold ? ` (default: ${fallback.replace(/^\["?|"?\]$/g, '')})` : '';
  return `${start}${sentence.slice(1)}${again}${told}`.replaceAll('`', '');
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
