/** The tables of docs/reference/proxy.md, from the schema: a test holds the page to them. */
import { proxyVariable } from './proxy-environment.js';
import type { SettingsGroup } from './proxy-schema.js';
import type { ProxySetting } from './proxy-setting.js';

const HEAD = '| key, variable, flag | value | default | meaning |\n|---|---|---|---|';

export function proxyReference({ settings }: SettingsGroup): string {
  return [HEAD, ...settings.map(row)].join('\n');
}

function row({ key, kind, flag, default: fallback, meaning }: ProxySetting): string {
  const names = [key, proxyVariable(key), ...(flag === undefined ? [] : [flag])];
  const range = kind.label ?? kind.expected.replace(/^(?:an?|the) /, '');
  const cells = [names.map((name) => `\`${name}\``).join('<br>'), range, fallbackText(fallback), meaning];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** A value as the file has it, or words. */
function fallbackText(fallback: string): string {
  return / |^none$/.test(fallback) ? fallback : `\`${fallback}\``;
}
