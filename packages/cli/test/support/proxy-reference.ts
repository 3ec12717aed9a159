/** The tables of docs/reference/proxy.md, made from the schema. A test compares them with the page. */
import { proxyVariable } from '../../src/proxy/proxy-environment.js';
import type { SettingsGroup } from '../../src/proxy/proxy-schema.js';
import type { ProxySetting } from '../../src/proxy/proxy-setting.js';

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

/** A value in the syntax of the file, or words. */
function fallbackText(fallback: string): string {
  return / |^none$/.test(fallback) ? fallback : `\`${fallback}\``;
}
